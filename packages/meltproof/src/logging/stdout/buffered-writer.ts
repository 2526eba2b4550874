/**
 * Writes the output of a stream to its sink. Bytes that the kernel accepts are written in the call, as in Node; the
 * rest waits in a bounded queue for a timer. Polling for writability would cost more: a slow reader frees one page at a
 * time.
 */
import type { Writable } from 'node:stream'
import { clearTimeout, setTimeout } from 'node:timers'
import { now, wallClockMs } from '../../clock.ts'
import { byteLength, endOfPart, type Output } from './line-ends.ts'
import { LineQueue, type StreamStats } from './line-queue.ts'
import { gapNotice } from './notices.ts'
import type { StdoutSettings } from './options.ts'
import { isOfConsole, NO_CALLBACK, PendingWrites } from './pending-writes.ts'

export type Done = (error?: Error | null) => void

export interface Sink {
  /** Maximum number of bytes in one write of several lines. */
  readonly batchBytes: number
  /** True if a write accepts everything, so that queueing first would gain nothing. */
  readonly takesAll: boolean
  /** Writes without waiting. Returns the number of bytes written, 0 when the sink is full. Throws Node's error. */
  write(output: Output): number
  close(): void
}

export interface WriterHooks {
  waits(): void
  /** Called when the sink begins to fail with this error, or when lines begin to be lost (no error). */
  trouble(error: Error | undefined): void
  /** Called with the lines lost since the last call, at most once a second. */
  lost(lines: number, bytes: number): void
}

/** From this many waiting bytes on, write() of a stream returns false, as with Node's own pipes. */
const HIGH_WATER_MARK_BYTES = 16_384
/** Longer output is queued before it is written. */
const DIRECT_BYTES = 16_384
const PART_BYTES = 65_536
/** Bytes written in one turn of the loop. Writing 8 MB at once, when a reader resumed, stalled it for 8 to 29 ms. */
const TURN_BYTES = 262_144
/** Pause between two attempts at a full pipe, ms; doubled while no byte is accepted. */
const PAUSE_MIN_MS = 1
const PAUSE_MAX_MS = 32
/** Pause between two attempts at a failing sink, ms. */
const FAILING_PAUSE_MS = 1000
const REPORT_PAUSE_MS = 1000

const OPEN_BRACE = 0x7b

export class BufferedWriter {
  readonly sink: Sink
  /** The streams that write here. They emit 'drain' and errors. */
  readonly streams: Writable[] = []
  private readonly hooks: WriterHooks
  private readonly queue: LineQueue<Done>
  private readonly pending = new PendingWrites()
  private timer: NodeJS.Timeout | undefined
  private pauseMs = PAUSE_MIN_MS
  private tryAtMs = 0
  private needsDrain = false
  private lastIsJson = false
  private failure: NodeJS.ErrnoException | undefined
  private readonly reportedTroubles = new Set<string | undefined>()
  private reported = { lines: 0, bytes: 0, nextAtMs: 0 }

  constructor(sink: Sink, limits: Pick<StdoutSettings, 'bufferBytes'>, hooks: WriterHooks) {
    this.sink = sink
    this.hooks = hooks
    this.queue = new LineQueue(limits, {
      gapNotice: lines => gapNotice(lines, this.lastIsJson, wallClockMs()),
      settled: (done, lost) => {
        this.pending.count(done, -1)
        this.callBack(done, lost)
      },
    })
  }

  get stats(): StreamStats {
    return { ...this.queue.stats }
  }

  get bufferedBytes(): number {
    return this.queue.stats.bufferedBytes
  }

  get full(): boolean {
    return this.bufferedBytes >= HIGH_WATER_MARK_BYTES
  }

  get idle(): boolean {
    return this.queue.empty
  }

  get failing(): boolean {
    return this.failure !== undefined
  }

  /** As in Node, a write below the high water mark is accepted whole: writers that obey back-pressure lose no line. */
  write(output: Output, done: Done | undefined, whole: boolean = !this.full): void {
    if (output.length > 0) this.lastIsJson = isJson(output)
    const direct = this.queue.canBypass && !this.failing && (this.sink.takesAll || output.length <= DIRECT_BYTES)
    if (!direct || !this.writeNow(output, done)) this.enqueue(output, done, whole)
    this.needsDrain ||= this.full
  }

  /** Called before a listener for 'drain', or a pipe, is added. */
  onDrainListener(): void {
    this.pending.respectsBackpressure = true
    this.holdProcess(() => this.needsDrain)
  }

  addNotice(text: string): void {
    this.queue.addNotice(text)
    this.flush()
  }

  flush(turnBytes: number = TURN_BYTES): void {
    clearTimeout(this.timer)
    this.timer = undefined
    let left = turnBytes
    let moved = false
    for (;;) {
      const bytes = this.queue.peek(this.sink.batchBytes)
      if (bytes === undefined) {
        this.pauseMs = PAUSE_MIN_MS
        break
      }
      const taken = this.tryWrite(bytes)
      if (taken === undefined) break
      this.failure = undefined
      if (taken > 0) this.queue.advance(taken)
      moved ||= taken > 0
      left -= taken
      if (taken < bytes.length || left <= 0) {
        this.pauseMs = moved ? Math.max(PAUSE_MIN_MS, this.pauseMs / 2) : Math.min(PAUSE_MAX_MS, this.pauseMs * 2)
        this.tryLater(this.pauseMs)
        break
      }
    }
    this.reportLosses()
    if (this.needsDrain && this.bufferedBytes * 2 <= HIGH_WATER_MARK_BYTES) {
      this.needsDrain = false
      process.nextTick(() => this.emit('drain'))
    }
  }

  abandon(): number {
    return this.queue.abandon()
  }

  handOver(write: (bytes: Uint8Array) => void): void {
    clearTimeout(this.timer)
    for (let bytes = this.queue.peek(PART_BYTES); bytes !== undefined; bytes = this.queue.peek(PART_BYTES)) {
      write(bytes)
      this.queue.advance(bytes.length)
    }
    this.sink.close()
  }

  private tryWrite(output: Output): number | undefined {
    try {
      return this.sink.write(output)
    } catch (error) {
      this.fail(error as NodeJS.ErrnoException)
      return undefined
    }
  }

  /** Returns false when nothing was written and `output` must be queued. */
  private writeNow(output: Output, done: Done | undefined): boolean {
    const taken = this.tryWrite(output)
    if (taken === undefined) return false
    if (taken === byteLength(output)) {
      this.queue.bypassed(output)
      if (done !== undefined) this.callBack(done, false)
      return true
    }
    this.tryLater(this.pauseMs)
    if (taken === 0) return false
    const bytes = Buffer.from(output as string)
    this.queue.bypassed(bytes.subarray(0, taken))
    this.enqueue(bytes.subarray(taken), done, true)
    return true
  }

  private enqueue(output: Output, done: Done | undefined, whole: boolean): void {
    const { lost } = this.queue.stats
    if (done !== undefined) this.pending.count(done, 1)
    if (output.length <= PART_BYTES) this.queue.push(output, done, whole)
    else this.enqueueParts(typeof output === 'string' ? Buffer.from(output) : output, done, whole)
    if (this.queue.stats.lost > lost) {
      this.tell(undefined)
      this.reportLosses()
    }
    if (now() >= this.tryAtMs) this.flush()
    else if (this.timer === undefined) this.tryLater(this.tryAtMs - now())
    else this.holdProcess()
  }

  /** Output longer than the queue is not lost if the sink accepts it in time. */
  private enqueueParts(bytes: Uint8Array, done: Done | undefined, whole: boolean): void {
    for (let at = 0; at < bytes.length; ) {
      const end = endOfPart(bytes, at, PART_BYTES)
      this.queue.push(bytes.subarray(at, end), end === bytes.length ? done : undefined, whole)
      at = end
      if (at < bytes.length && !this.failing) this.flush(Number.POSITIVE_INFINITY)
    }
  }

  private tryLater(afterMs: number): void {
    this.tryAtMs = now() + afterMs
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.flush(), afterMs).unref()
    this.holdProcess()
    this.hooks.waits()
  }

  /** A failing stream does not keep the process alive, because it may never accept the output. */
  private holdProcess(awaitsDrain: () => boolean = this.awaitsDrain): void {
    if (!this.failing && this.pending.keepAlive(awaitsDrain)) this.timer?.ref()
  }

  private readonly awaitsDrain = (): boolean =>
    this.needsDrain && this.streams.some(stream => stream.listenerCount('drain') > 0)

  private fail(error: NodeJS.ErrnoException): void {
    const known = this.failing && this.failure?.code === error.code
    this.failure = error
    this.tryLater(FAILING_PAUSE_MS)
    if (known) return
    this.tell(error)
    process.nextTick(() => this.emit('error', error))
  }

  /** Emits only if a listener exists, because Node ends the process for an 'error' event without a listener. */
  private emit(event: 'drain' | 'error', ...args: Error[]): void {
    for (const stream of this.streams) if (stream.listenerCount(event) > 0) stream.emit(event, ...args)
  }

  private tell(error: NodeJS.ErrnoException | undefined): void {
    const kind = error === undefined ? 'slow' : error.code
    if (this.reportedTroubles.has(kind)) return
    this.reportedTroubles.add(kind)
    this.hooks.trouble(error)
  }

  private reportLosses(): void {
    const { lost, lostBytes } = this.queue.stats
    const { lines, bytes, nextAtMs } = this.reported
    if (lost === lines || now() < nextAtMs) return
    this.reported = { lines: lost, bytes: lostBytes, nextAtMs: now() + REPORT_PAUSE_MS }
    this.hooks.lost(lost - lines, lostBytes - bytes)
  }

  /** Calls back after the write, in the order of the writes. A line lost to a slow reader is not an error. */
  private callBack(done: Done, lost: boolean): void {
    const error = lost && this.failure !== undefined ? this.failure : null
    if (done === NO_CALLBACK || (error === null && isOfConsole(done))) return
    process.nextTick(done, error)
  }
}

function isJson(output: Output): boolean {
  return (typeof output === 'string' ? output.charCodeAt(0) : output[0]) === OPEN_BRACE
}
