/**
 * What worker threads still owe to a descriptor when the process ends. A thread is stopped without a word, so each
 * keeps its account where the main thread can read it, and writes only while it holds the lock: once the main thread
 * has taken that for good, nothing is written any more and the account is exact.
 */
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'

const KEY = 'meltproof.stdout'
const LOCK = 0
/** Slots 1 and 2: lines owed to descriptors 1 and 2. */
const SLOTS = 3

const FREE = 0
const TAKEN = 1
const CLOSED = 2

export class ThreadLedger {
  private readonly slots: Int32Array
  private readonly mine: [number, number, number] = [0, 0, 0]

  /** The one of this process: made by the main thread, found by those started later. */
  static ofProcess(): ThreadLedger | undefined {
    const known = getEnvironmentData(KEY)
    if (known instanceof SharedArrayBuffer) return new ThreadLedger(known)
    if (!isMainThread) return undefined
    const made = new SharedArrayBuffer(SLOTS * Int32Array.BYTES_PER_ELEMENT)
    setEnvironmentData(KEY, made as never)
    return new ThreadLedger(made)
  }

  constructor(memory: SharedArrayBuffer) {
    this.slots = new Int32Array(memory)
  }

  /** In a thread: `work` may write, and afterwards `owed()` is what is owed. Not run once the process is ending. */
  account(fd: 1 | 2, work: () => void, owed: () => number): void {
    for (;;) {
      const state = Atomics.compareExchange(this.slots, LOCK, FREE, TAKEN)
      if (state === CLOSED) return
      if (state === FREE) break
    }
    try {
      work()
    } finally {
      const lines = owed()
      Atomics.add(this.slots, fd, lines - this.mine[fd])
      this.mine[fd] = lines
      Atomics.store(this.slots, LOCK, FREE)
    }
  }

  /** In the main thread: lines all others owe to `fd`. */
  owed(fd: 1 | 2): number {
    return Atomics.load(this.slots, fd)
  }

  /** In the main thread: the same, once, for the final count. */
  takeOwed(fd: 1 | 2): number {
    return Atomics.exchange(this.slots, fd, 0)
  }

  /** In the main thread, for good: from now on no other thread writes. */
  close(): void {
    for (;;) {
      const state = Atomics.compareExchange(this.slots, LOCK, FREE, CLOSED)
      if (state !== TAKEN) return
    }
  }
}
