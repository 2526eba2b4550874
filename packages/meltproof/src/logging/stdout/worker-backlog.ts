/**
 * How many lines worker threads have not written yet, in memory that the main thread reads when the process ends, which
 * stops them without notice. A thread writes only while it holds the lock; once that is closed the count is exact.
 */
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'

const KEY = 'meltproof.stdout'
const LOCK = 0
/** The lock, and a count each for descriptors 1 and 2. */
const SLOTS = 3

const FREE = 0
const TAKEN = 1
const CLOSED = 2

export class WorkerBacklog {
  private readonly slots: Int32Array

  /** Made by the main thread, found by threads that are started later. */
  static ofProcess(): WorkerBacklog | undefined {
    const known = getEnvironmentData(KEY)
    if (known instanceof SharedArrayBuffer) return new WorkerBacklog(known)
    if (!isMainThread) return undefined
    const made = new SharedArrayBuffer(SLOTS * Int32Array.BYTES_PER_ELEMENT)
    setEnvironmentData(KEY, made as never)
    return new WorkerBacklog(made)
  }

  private constructor(memory: SharedArrayBuffer) {
    this.slots = new Int32Array(memory)
  }

  /** Runs `work`, which may write, unless the process is ending. */
  locked(work: () => void): void {
    for (;;) {
      const state = Atomics.compareExchange(this.slots, LOCK, FREE, TAKEN)
      if (state === CLOSED) return
      if (state === FREE) break
    }
    try {
      work()
    } finally {
      Atomics.store(this.slots, LOCK, FREE)
    }
  }

  /** Only with the lock. */
  add(fd: 1 | 2, lines: number): void {
    Atomics.add(this.slots, fd, lines)
  }

  lines(fd: 1 | 2): number {
    return Atomics.load(this.slots, fd)
  }

  /** For the final count: the lines are told of once. */
  takeLines(fd: 1 | 2): number {
    return Atomics.exchange(this.slots, fd, 0)
  }

  /** No thread writes from now on. */
  close(): void {
    while (Atomics.compareExchange(this.slots, LOCK, FREE, CLOSED) === TAKEN);
  }
}
