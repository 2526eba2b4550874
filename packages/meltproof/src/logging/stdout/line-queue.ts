/**
 * A bounded queue of log output that drops only whole lines, the newest, and counts them exactly. Pure.
 *
 * The queue is a list of pieces. A piece is some whole lines, or a part of one line (a prompt, a progress bar). The
 * parts of a line are stored or dropped together. A notice marks where lines were dropped. At any time `written +
 * waiting + lost` is the number of lines logged.
 */
import { byteLength, endsLine, linesIn, NEWLINE, type Output } from './line-ends.ts'
import { CUT_NOTICE } from './notices.ts'
import type { StdoutSettings } from './options.ts'

/** Bytes of the objects that hold a queued piece, in addition to its text (measured 150 to 180 on Node 24). */
export const PIECE_OVERHEAD = 160

/** A full queue drops lines until it is this empty, so that there is one gap and not one per line. */
const RESUME_AT = 0.5

export interface LineQueueHooks<D> {
  gapNotice(lines: number): string
  /** The output that was pushed with `done` is written, or lost. Called once for each `done`. */
  settled(done: D, lost: boolean): void
}

/** @experimental */
export interface StreamStats {
  readonly written: number
  readonly waiting: number
  readonly lost: number
  readonly lostBytes: number
  readonly bufferedBytes: number
}

export const NO_STATS: StreamStats = { written: 0, waiting: 0, lost: 0, lostBytes: 0, bufferedBytes: 0 }

interface Piece<D> {
  readonly bytes: Uint8Array
  readonly lines: number
  /** True if the piece ends within a line, which the next piece continues. */
  readonly open: boolean
  /** Number of lost lines that this notice reports; 0 for other pieces. */
  readonly gap: number
  readonly done: D | undefined
}

export class LineQueue<D> {
  readonly stats: { -readonly [Name in keyof StreamStats]: number } = { ...NO_STATS }
  private readonly limits: Pick<StdoutSettings, 'bufferBytes'>
  private readonly hooks: LineQueueHooks<D>
  private pieces: Piece<D>[] = []
  /** Index of the first unwritten piece, and how many of its bytes and lines are written. */
  private head = 0
  private offset = 0
  private headLines = 0
  private gap = 0
  private reported = 0
  /** True if the output that was accepted last, or written last, ends within a line. */
  private open = false
  private writtenOpen = false
  /** A part of the current line was dropped, so its remaining parts are dropped as well. */
  private skipping = false
  /** Lines are dropped until there is enough room again. */
  private losing = false

  constructor(limits: Pick<StdoutSettings, 'bufferBytes'>, hooks: LineQueueHooks<D>) {
    this.limits = limits
    this.hooks = hooks
  }

  get empty(): boolean {
    return this.head === this.pieces.length && this.gap === 0
  }

  /** True when nothing waits and no line is partly lost: output can be written directly. */
  get canBypass(): boolean {
    return this.empty && !this.skipping
  }

  bypassed(output: Output): void {
    if (output.length === 0) return
    this.stats.written += linesIn(output)
    this.open = this.writtenOpen = !endsLine(output)
  }

  /**
   * Queues or drops output. Queued output is copied.
   * @param whole true to queue all of it, even beyond the limit, except the rest of a line that was partly dropped
   */
  push(output: Output, done?: D, whole = false): void {
    // With a slow reader most lines are dropped here, so this path makes no copy.
    if (!whole && this.losing && this.overResumption && !this.open && !this.skipping && endsLine(output)) {
      this.lose(linesIn(output), byteLength(output))
      this.settle(done, true)
      return
    }
    const bytes = typeof output === 'string' ? Buffer.from(output) : new Uint8Array(output)
    if (bytes.length === 0) this.pushEmpty(bytes, done, whole)
    else if (!this.pushParts(bytes, done, whole)) this.settle(done, true)
  }

  /**
   * The callback of an empty write waits for the output before it. Only the first one after some output may exceed the
   * limit: `write('', callback)` is how apps wait for their output.
   */
  private pushEmpty(bytes: Uint8Array, done: D | undefined, whole: boolean): void {
    const waits = whole || this.fits(0) || this.pieces.at(-1)?.bytes.length !== 0
    if (done === undefined || this.empty || !waits) {
      this.settle(done, false)
      return
    }
    this.endGap()
    this.append({ bytes, open: this.open, done })
  }

  /** Adds the end of a line, whole lines, and the beginning of one. Returns false if the last of these was dropped. */
  private pushParts(bytes: Uint8Array, done: D | undefined, whole: boolean): boolean {
    let kept = false
    let at = 0
    const keepTo = (end: number, continues = false): void => {
      if (end <= at) return
      // A part is copied, so that it does not keep a large chunk in memory.
      const part = end - at === bytes.length ? bytes : new Uint8Array(bytes.subarray(at, end))
      kept = this.keep(part, continues, end === bytes.length ? done : undefined, whole)
      at = end
    }
    const lineEnd = bytes.indexOf(NEWLINE) + 1 || bytes.length
    if (this.open) keepTo(lineEnd, true)
    else if (this.skipping) {
      at = lineEnd
      this.stats.lostBytes += at
      this.skipping = bytes[at - 1] !== NEWLINE
    }
    keepTo(bytes.lastIndexOf(NEWLINE) + 1)
    keepTo(bytes.length)
    return kept
  }

  /** The next bytes to write: whole pieces up to `maxBytes`, or one longer piece. Undefined when there are none. */
  peek(maxBytes: number): Uint8Array | undefined {
    if (this.head === this.pieces.length) this.endGap()
    const first = this.pieces[this.head]
    if (first === undefined) return undefined
    const start = first.bytes.subarray(this.offset)
    const batch = [start]
    let total = start.length
    for (let i = this.head + 1; i < this.pieces.length; i++) {
      const { bytes } = this.pieces[i]!
      total += bytes.length
      if (total > maxBytes) break
      batch.push(bytes)
    }
    return batch.length === 1 ? start : Buffer.concat(batch)
  }

  advance(bytes: number): void {
    let left = bytes
    for (;;) {
      const piece = this.pieces[this.head]
      if (piece === undefined) break
      const rest = piece.bytes.length - this.offset
      if (left < rest) {
        const lines = piece.lines > 0 ? linesIn(piece.bytes.subarray(this.offset, this.offset + left)) : 0
        this.offset += left
        this.headLines += lines
        this.wrote(lines)
        break
      }
      left -= rest
      this.wrote(piece.lines - this.headLines)
      this.head++
      this.offset = this.headLines = 0
      this.stats.bufferedBytes -= PIECE_OVERHEAD + piece.bytes.length
      this.reported += piece.gap
      this.writtenOpen = piece.open
      this.settle(piece.done, false)
    }
    // Written pieces are not removed one by one: the cost of a write must not depend on the length of the queue.
    if (this.head * 2 < this.pieces.length) return
    this.pieces.splice(0, this.head)
    this.head = 0
  }

  /** Drops everything. Returns how many lost lines no notice has reported. From then on they count as reported. */
  abandon(): number {
    if (this.empty) return 0
    const first = this.pieces[this.head]
    if (first !== undefined && this.offset > 0) {
      this.writtenOpen = !endsLine(first.bytes.subarray(0, this.offset))
      this.stats.bufferedBytes -= this.offset
      const bytes = first.bytes.subarray(this.offset)
      this.pieces[this.head] = { ...first, bytes, lines: first.lines - this.headLines }
    }
    this.giveUpFrom(this.head)
    this.pieces = []
    this.head = this.offset = this.headLines = this.gap = 0
    // The newline of the open line has not arrived, so none of its parts was counted as a line.
    if (this.open) this.stats.lost++
    this.skipping ||= this.open
    this.open = false
    if (this.writtenOpen) this.append({ bytes: Buffer.from(CUT_NOTICE) })
    const unreported = this.stats.lost - this.reported
    this.reported = this.stats.lost
    return unreported
  }

  /** Adds a line of meltproof itself, if there is room. It is not counted. */
  addNotice(text: string): void {
    const bytes = Buffer.from(text)
    if (this.fits(bytes.length)) this.append({ bytes, open: this.open })
  }

  private keep(bytes: Uint8Array, continues: boolean, done: D | undefined, whole: boolean): boolean {
    const lines = linesIn(bytes)
    const open = !endsLine(bytes)
    if (whole) this.losing = false
    if (whole || (continues ? this.fits(bytes.length) : this.hasRoom(bytes.length))) {
      if (!continues) this.endGap()
      this.append({ bytes, lines, open, done })
      this.open = open
      return true
    }
    if (continues) this.takeBackLine()
    this.lose(lines || 1, bytes.length)
    this.open = false
    this.skipping = open
    return false
  }

  /** Removes the parts of the last line, or ends the line if some are already written. */
  private takeBackLine(): void {
    let start = this.pieces.length
    while (start > this.head && this.pieces[start - 1]!.open) start--
    const begun = start === this.head && (this.offset > 0 || this.writtenOpen)
    if (begun) this.append({ bytes: Buffer.from(CUT_NOTICE) })
    else this.giveUpFrom(start)
  }

  private fits(bytes: number): boolean {
    return this.stats.bufferedBytes + bytes + PIECE_OVERHEAD <= this.limits.bufferBytes
  }

  private get overResumption(): boolean {
    return this.stats.bufferedBytes > this.limits.bufferBytes * RESUME_AT
  }

  /** True if a new line of this length may be added. A line that never fits does not cause others to be dropped. */
  private hasRoom(bytes: number): boolean {
    if (this.losing && this.overResumption) return false
    const fits = this.fits(bytes)
    this.losing = !fits && bytes + PIECE_OVERHEAD <= this.limits.bufferBytes
    return fits
  }

  private lose(lines: number, bytes: number): void {
    this.stats.lost += lines
    this.stats.lostBytes += bytes
    this.gap += lines
  }

  private endGap(): void {
    const { gap } = this
    this.gap = 0
    if (gap > 0) this.append({ bytes: Buffer.from(this.hooks.gapNotice(gap)), gap })
  }

  private append({ bytes, lines = 0, open = false, gap = 0, done }: Partial<Piece<D>> & Pick<Piece<D>, 'bytes'>): void {
    this.pieces.push({ bytes, lines, open, gap, done })
    this.stats.bufferedBytes += PIECE_OVERHEAD + bytes.length
    this.stats.waiting += lines
  }

  private wrote(lines: number): void {
    this.stats.written += lines
    this.stats.waiting -= lines
  }

  private giveUpFrom(index: number): void {
    for (const piece of this.pieces.splice(index)) {
      this.stats.bufferedBytes -= PIECE_OVERHEAD + piece.bytes.length
      this.stats.waiting -= piece.lines
      this.stats.lost += piece.lines
      if (piece.gap === 0) this.stats.lostBytes += piece.bytes.length
      this.settle(piece.done, true)
    }
  }

  private settle(done: D | undefined, lost: boolean): void {
    if (done !== undefined) this.hooks.settled(done, lost)
  }
}
