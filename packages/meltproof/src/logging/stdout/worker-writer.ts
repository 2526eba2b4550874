/**
 * The writer of a worker thread. Threads are stopped without notice when the process ends, so they count their
 * unwritten lines in memory that the main thread can read.
 */
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'
import { now } from '../../clock.ts'
import { BufferedWriter, type Done, type Sink, type WriterHooks } from './buffered-writer.ts'
import type { Output } from './line-ends.ts'
import type { LineQueueLimits } from './line-queue.ts'

const KEY = 'meltproof.stdout'
const LOCK = 0
/** Number of shared words: the lock, and one count for each of descriptors 1 and 2. */
const SLOTS = 3

const FREE = 0
const TAKEN = 1
const CLOSED = 2

/** No write holds the lock longer than this, ms. A thread that is terminated during a write never releases it. */
const HELD_MS = 200

/** A thread writes only while it holds the lock, so the count is exact once the lock is closed. */
export class WorkerBacklog {
  private readonly slots: Int32Array

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

  /** Runs `work`, which may write and returns the change in waiting lines. Does nothing once the lock is closed. */
  locked(fd: 1 | 2, work: () => number): void {
    if (this.move(TAKEN) === CLOSED) return
    try {
      Atomics.add(this.slots, fd, work())
    } finally {
      Atomics.compareExchange(this.slots, LOCK, TAKEN, FREE)
    }
  }

  lines(fd: 1 | 2): number {
    return Atomics.load(this.slots, fd)
  }

  takeLines(fd: 1 | 2): number {
    return Atomics.exchange(this.slots, fd, 0)
  }

  close(): void {
    this.move(CLOSED)
  }

  /** Acquires or closes a free lock, or that of an ended thread. Returns its former state. */
  private move(to: typeof TAKEN | typeof CLOSED): number {
    let fromMs: number | undefined
    for (;;) {
      const state = Atomics.compareExchange(this.slots, LOCK, FREE, to)
      if (state !== TAKEN) return state
      fromMs ??= now()
      if (now() - fromMs > HELD_MS) return Atomics.compareExchange(this.slots, LOCK, TAKEN, to)
    }
  }
}

export class WorkerWriter extends BufferedWriter {
  private readonly fd: 1 | 2
  private readonly backlog: WorkerBacklog
  private locked = false

  constructor(fd: 1 | 2, backlog: WorkerBacklog, sink: Sink, limits: LineQueueLimits, hooks: WriterHooks) {
    super(sink, limits, hooks)
    this.fd = fd
    this.backlog = backlog
  }

  override write(output: Output, done: Done | undefined): void {
    this.withLock(() => super.write(output, done))
  }

  override flush(turnBytes?: number): void {
    this.withLock(() => super.flush(turnBytes))
  }

  private withLock(work: () => void): void {
    if (this.locked) {
      work()
      return
    }
    this.backlog.locked(this.fd, () => {
      const before = this.unwrittenLines
      this.locked = true
      try {
        work()
      } finally {
        this.locked = false
      }
      return this.unwrittenLines - before
    })
  }
}
