/**
 * One stream of log output on its way to its descriptor: what the kernel takes is written in the call, as Node does;
 * the rest waits in a bounded queue and is tried again by a timer. The timer keeps the process alive while the outlet
 * owes it to a writer, as a pending write of Node's does, and otherwise not (outlet-debt.ts).
 *
 * A timer and not a poll for writability: a reader that is slow frees a page at a time, and being woken for each costs
 * more than looking in now and then, up to PAUSE_MAX_MS apart.
 */
import { clearTimeout, setTimeout } from 'node:timers'
import { now, wallClockMs } from '../../clock.ts'
import { LineQueue, type LineQueueLimits } from './line-queue.ts'
import { CUT_NOTICE, gapNotice, type NoticeForm, type Trouble } from './notices.ts'
import { isOfConsole, OutletDebt, UNHEARD } from './pending-writes.ts'
import type { Sink } from './sink.ts'

/** Called when what was written is with the kernel, or given up. */
export type Done = (error?: Error | null) => void

export interface OutletSettings extends LineQueueLimits {
  /** How notices are written; `auto`: as JSON when the line before was. */
  readonly notices: NoticeForm | 'auto'
}

export interface OutletHooks {
  /** Something waits, and nothing did before. */
  waits(): void
  /** Something goes wrong that has not been told yet. */
  trouble(trouble: Trouble): void
  /** Lines were lost; at most once a second, with what was lost since the last call. */
  lost(lines: number, bytes: number): void
  /** Room again after {@link Outlet.full}. */
  drained(): void
  /** Whether somebody waits for that. */
  awaited(): boolean
  /** A write failed with an error that is new. */
  failed(error: Error): void
}

/** The first wait for a full pipe; doubled while nothing moves. */
const PAUSE_MIN_MS = 1
const PAUSE_MAX_MS = 32
/** Between two looks at what fails: a reader that has gone, a disk that is full. */
const FAILING_PAUSE_MS = 1000
/** Written in one turn of the event loop at most, so that a long queue is no stall when its reader returns. */
const TURN_BYTES = 262_144
/** What is longer goes through the queue in parts of about this size. */
const PART_BYTES = 65_536
/** What is longer is not tried before it is queued. */
const DIRECT_BYTES = 16_384

const OPEN_BRACE = 0x7b
const NEWLINE = 10

export class Outlet {
  readonly sink: Sink
  /** As much as Node's own pipes: write() returns false beyond it. */
  readonly highWaterMark = 16_384
  private settings: OutletSettings
  private readonly hooks: OutletHooks
  private readonly queue: LineQueue<Done>
  private waits = false
  private timer: NodeJS.Timeout | undefined
  private pauseMs = PAUSE_MIN_MS
  private tryAtMs = 0
  private failure: string | undefined
  private readonly told = new Set<string>()
  private wantsDrain = false
  private readonly debt = new OutletDebt()
  private json = false
  private settled: [Done, Error | null][] = []
  private publishedLines = 0
  private publishedBytes = 0
  private publishAtMs = 0

  constructor(sink: Sink, settings: OutletSettings, hooks: OutletHooks) {
    this.sink = sink
    this.settings = settings
    this.hooks = hooks
    this.queue = new LineQueue(settings, {
      gap: lines => this.gap(lines),
      cut: () => Buffer.from(CUT_NOTICE),
      settled: (done, lost) => {
        this.debt.settle(done)
        this.settle(done, lost)
      },
    })
  }

  configure(settings: OutletSettings): void {
    this.settings = settings
    this.queue.limits = settings
  }

  /** More waits than a polite writer adds to. */
  get full(): boolean {
    return this.queue.used >= this.highWaterMark
  }

  /** What waits, in bytes, with what holding it costs. */
  get used(): number {
    return this.queue.used
  }

  get idle(): boolean {
    return this.queue.empty
  }

  get stats(): OutletStats {
    const { written, waiting, lost, lostBytes, used } = this.queue
    return { written, waiting, lost, lostBytes, bufferedBytes: used }
  }

  /** The last write ended in an error. */
  get failing(): boolean {
    return this.failure !== undefined
  }

  /** Lines that would be lost and untold if the process ended now. */
  get owed(): number {
    return this.queue.waiting + this.queue.unreported
  }

  write(data: string | Uint8Array, done: Done | undefined): void {
    if (data.length > 0) this.json = (typeof data === 'string' ? data.charCodeAt(0) : data[0]) === OPEN_BRACE
    const direct = this.queue.clear && this.failure === undefined && (this.sink.takesAll || data.length <= DIRECT_BYTES)
    if (!direct || !this.writeNow(data, done)) this.enqueue(data, done)
    if (!this.full) return
    this.wantsDrain = true
    if (data.length > 0 && this.debt.refuse(done)) this.keepAliveIfOwed()
  }

  /** Somebody is about to listen for 'drain', or pipes into the stream and will. */
  heeded(how: 'drain' | 'pipe'): void {
    if (how === 'pipe') this.debt.piped()
    else if (this.wantsDrain) {
      this.debt.awaited()
      // That the listener is there is seen at the next look.
      if (!this.failing) this.timer?.ref()
    }
  }

  /** A line of ours. */
  note(text: string): void {
    this.queue.note(Buffer.from(text))
    this.flush()
  }

  /** Writes what the kernel takes. */
  flush(turnBytes: number = TURN_BYTES): void {
    clearTimeout(this.timer)
    this.timer = undefined
    let left = turnBytes
    for (;;) {
      const bytes = this.queue.peek(this.sink.batchBytes)
      if (bytes === undefined) {
        this.waits = false
        this.pauseMs = PAUSE_MIN_MS
        break
      }
      let taken: number
      try {
        taken = this.sink.write(bytes)
      } catch (error) {
        this.fail(error as NodeJS.ErrnoException)
        break
      }
      this.failure = undefined
      if (taken > 0) this.queue.advance(taken)
      left -= taken
      if (taken < bytes.length || left <= 0) {
        const moved = left < turnBytes
        this.pauseMs = moved ? Math.max(PAUSE_MIN_MS, this.pauseMs / 2) : Math.min(PAUSE_MAX_MS, this.pauseMs * 2)
        this.tryLater(this.pauseMs)
        break
      }
    }
    this.publishLoss()
    if (this.wantsDrain && this.queue.used * 2 <= this.highWaterMark) {
      this.wantsDrain = false
      this.debt.drained()
      process.nextTick(this.hooks.drained)
    }
  }

  /** Gives up what waits; the lines that no notice in the stream told of. */
  abandon(): number {
    this.queue.abandon()
    return this.queue.takeUnreported()
  }

  /** What waits goes to `write`, in order; the outlet is not used afterwards. */
  handOver(write: (bytes: Uint8Array) => void): void {
    clearTimeout(this.timer)
    for (let bytes = this.queue.peek(PART_BYTES); bytes !== undefined; bytes = this.queue.peek(PART_BYTES)) {
      write(bytes)
      this.queue.advance(bytes.length)
    }
    this.sink.close()
  }

  /** False when nothing is written and `data` is still to be queued. */
  private writeNow(data: string | Uint8Array, done: Done | undefined): boolean {
    let taken: number
    try {
      taken = this.sink.write(data)
    } catch (error) {
      this.fail(error as NodeJS.ErrnoException)
      return false
    }
    const length = byteLength(data)
    if (taken === length) {
      if (length > 0) this.queue.passed(linesOf(data), !endsLine(data))
      if (done !== undefined) this.settle(done, false)
      return true
    }
    this.tryLater(this.pauseMs)
    if (taken === 0) return false
    const bytes = Buffer.from(data as string)
    const out = bytes.subarray(0, taken)
    this.queue.passed(linesOf(out), !endsLine(out))
    this.enqueue(bytes.subarray(taken), done)
    return true
  }

  private enqueue(data: string | Uint8Array, done: Done | undefined): void {
    const { lost } = this.queue
    const owed = done !== undefined && this.debt.add(done)
    // Under a reader that is too slow this is the way of nearly every line: it costs no copy.
    if (this.queue.turnsAway && data.length <= PART_BYTES && endsLine(data))
      this.queue.turnAway(linesOf(data), byteLength(data), done)
    // Given to us for now; the caller may fill its buffer anew.
    else this.queueUp(typeof data === 'string' ? Buffer.from(data) : new Uint8Array(data), done)
    if (this.queue.lost > lost) {
      this.tell('slow')
      this.publishLoss()
    }
    if (now() >= this.tryAtMs) this.flush()
    else if (this.timer === undefined) this.tryLater(this.tryAtMs - now())
    else if (owed && !this.failing) this.timer.ref()
  }

  /** In parts, so that what is long is not lost because the queue is short. `bytes` are ours. */
  private queueUp(bytes: Uint8Array, done: Done | undefined): void {
    if (bytes.length <= PART_BYTES) {
      this.queue.push(bytes, done)
      return
    }
    for (let at = 0; at < bytes.length; ) {
      const end = endOfPart(bytes, at)
      this.queue.push(new Uint8Array(bytes.subarray(at, end)), end === bytes.length ? done : undefined)
      at = end
      if (at < bytes.length && this.failure === undefined) this.flush(Number.POSITIVE_INFINITY)
    }
  }

  private publishLoss(): void {
    const { lost, lostBytes } = this.queue
    if (lost === this.publishedLines || now() < this.publishAtMs) return
    this.publishAtMs = now() + 1000
    this.hooks.lost(lost - this.publishedLines, lostBytes - this.publishedBytes)
    this.publishedLines = lost
    this.publishedBytes = lostBytes
  }

  private fail(error: NodeJS.ErrnoException): void {
    const code = error.code ?? 'unknown'
    const known = this.failure === code
    this.failure = code
    this.tryLater(FAILING_PAUSE_MS)
    if (known) return
    this.tell('failing', code)
    process.nextTick(this.hooks.failed, error)
  }

  private tell(kind: Trouble['kind'], detail = ''): void {
    const key = detail === '' ? kind : `${kind} ${detail}`
    if (this.told.has(key)) return
    this.told.add(key)
    this.hooks.trouble({ kind, detail })
  }

  private tryLater(afterMs: number): void {
    this.tryAtMs = now() + afterMs
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.flush(), afterMs)
    if (!this.owes) this.timer.unref()
    if (this.waits) return
    this.waits = true
    this.hooks.waits()
  }

  private keepAliveIfOwed(): void {
    if (this.owes) this.timer?.ref()
  }

  /** A stream that fails may never take it: the process must be able to end. */
  private get owes(): boolean {
    return !this.failing && this.debt.owes(this.hooks.awaited)
  }

  private gap(lines: number): Uint8Array {
    const { notices } = this.settings
    const form = notices === 'auto' ? (this.json ? 'json' : 'text') : notices
    return Buffer.from(gapNotice(lines, form, wallClockMs()))
  }

  /** In the order of the writes and never within them, in one tick for many. A line that is merely lost is no error. */
  private settle(done: Done, lost: boolean): void {
    const error = lost && this.failure !== undefined ? failureError(this.failure) : null
    if (done === UNHEARD || (error === null && isOfConsole(done))) return
    if (this.settled.push([done, error]) === 1) process.nextTick(() => this.callBack())
  }

  private callBack(): void {
    const { settled } = this
    this.settled = []
    let at = 0
    try {
      while (at < settled.length) {
        const [done, error] = settled[at++]!
        done(error)
      }
    } finally {
      // One that throws is the app's affair; the others are called nevertheless.
      const rest = settled.slice(at)
      if (rest.length > 0 && this.settled.unshift(...rest) === rest.length) process.nextTick(() => this.callBack())
    }
  }
}

export interface OutletStats {
  /** Lines the kernel has taken. */
  readonly written: number
  /** Lines in the buffer. */
  readonly waiting: number
  /** Lines lost. */
  readonly lost: number
  /** Their bytes. */
  readonly lostBytes: number
  /** What the lines in the buffer cost. */
  readonly bufferedBytes: number
}

const failureErrors = new Map<string, Error>()

/** One object for each code: an error for each line that a full disk loses would cost more than the line. */
function failureError(code: string): Error {
  let error = failureErrors.get(code)
  if (error === undefined) {
    error = Object.assign(new Error(`write ${code}`), { code, syscall: 'write' })
    failureErrors.set(code, error)
  }
  return error
}

function byteLength(data: string | Uint8Array): number {
  return typeof data === 'string' ? Buffer.byteLength(data) : data.length
}

function endsLine(data: string | Uint8Array): boolean {
  return (typeof data === 'string' ? data.charCodeAt(data.length - 1) : data[data.length - 1]) === NEWLINE
}

function linesOf(data: string | Uint8Array): number {
  let lines = 0
  if (typeof data === 'string') {
    for (let at = data.indexOf('\n'); at !== -1; at = data.indexOf('\n', at + 1)) lines++
  } else {
    for (let at = data.indexOf(NEWLINE); at !== -1; at = data.indexOf(NEWLINE, at + 1)) lines++
  }
  return lines
}

/** Whole lines of about PART_BYTES, or one line that is longer. */
function endOfPart(bytes: Uint8Array, from: number): number {
  if (bytes.length - from <= PART_BYTES) return bytes.length
  const end = bytes.lastIndexOf(NEWLINE, from + PART_BYTES - 1) + 1
  return end > from ? end : bytes.indexOf(NEWLINE, from) + 1 || bytes.length
}
