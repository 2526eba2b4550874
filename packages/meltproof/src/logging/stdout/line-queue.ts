/**
 * A bounded queue of log output that loses whole lines only and knows exactly how many. It knows neither a clock nor
 * where the bytes go.
 *
 * It holds a list of pieces. A piece is some whole lines, or a part of one line (a prompt, a progress bar); the parts of
 * a line are kept or lost together. Where lines were lost stands a gap: a piece that becomes a notice, with its final
 * count, when it is written. At any time `written + waiting + lost` is the number of lines logged.
 */
import { byteLength, endsLine, linesIn, NEWLINE, type Output } from './line-ends.ts'
import { CUT_NOTICE } from './notices.ts'

/** Bytes that a queued piece costs besides its own: the objects that hold it (measured 150 to 180 on Node 24). */
export const PIECE_OVERHEAD = 160

/** A queue that had to lose lines goes on until it is this empty, so that there is one gap and not one a line. */
const RESUME_AT = 0.5

export interface LineQueueHooks<D> {
  /** The notice that stands where `lines` lines were lost. */
  gapNotice(lines: number): string
  /** What came with `done` is written, or lost. Called once for each `done`. */
  settled(done: D, lost: boolean): void
}

export interface LineQueueLimits {
  /** What all pieces may cost together. */
  readonly bufferBytes: number
  /** Which lines to lose when there is no room. */
  readonly drop: 'newest' | 'oldest'
}

export interface StreamStats {
  /** Lines the kernel has taken. */
  readonly written: number
  /** Lines in the buffer. */
  readonly waiting: number
  /** Lines lost, whole or in part. */
  readonly lost: number
  readonly lostBytes: number
  /** What the lines in the buffer cost. */
  readonly bufferedBytes: number
}

export const NO_STATS: StreamStats = { written: 0, waiting: 0, lost: 0, lostBytes: 0, bufferedBytes: 0 }

interface Piece<D> {
  /** Undefined for a gap whose notice is not made yet. */
  bytes: Uint8Array | undefined
  /** Lines that end in it. */
  readonly lines: number
  /** Ends within a line, which the next piece goes on with. */
  readonly open: boolean
  /** Lost lines that this notice tells of; 0 for other pieces. */
  gap: number
  readonly done: D | undefined
}

export class LineQueue<D> {
  limits: LineQueueLimits
  private readonly hooks: LineQueueHooks<D>
  private readonly counts = { ...NO_STATS } as { -readonly [Name in keyof StreamStats]: number }
  private readonly pieces: Piece<D>[] = []
  /** Index of the first piece that is not written, and how many of its bytes are. */
  private head = 0
  private offset = 0
  /** What was last accepted ends within a line. */
  private open = false
  /** What was last written ends within a line. */
  private writtenOpen = false
  /** The line being logged is lost already, with the parts of it that are still to come. */
  private skipping = false
  /** Lines are lost until there is enough room again. */
  private losing = false
  private reported = 0

  constructor(limits: LineQueueLimits, hooks: LineQueueHooks<D>) {
    this.limits = limits
    this.hooks = hooks
  }

  get stats(): StreamStats {
    return this.counts
  }

  /** Lost lines that no notice has told of yet. */
  get unreported(): number {
    return this.counts.lost - this.reported
  }

  get empty(): boolean {
    return this.head === this.pieces.length
  }

  /** Nothing waits and no line is half lost: output need not go through the queue. */
  get canBypass(): boolean {
    return this.empty && !this.skipping
  }

  /** Counts output that did not go through the queue. */
  bypassed(output: Output): void {
    if (output.length === 0) return
    this.counts.written += linesIn(output)
    this.open = this.writtenOpen = !endsLine(output)
  }

  /** Takes output in, or loses it. Copies what it keeps. */
  push(output: Output, done?: D): void {
    // With a reader that is too slow most lines end here, and cost no copy.
    if (this.losing && this.overResumption && !this.open && !this.skipping && endsLine(output)) {
      this.lose(linesIn(output), byteLength(output))
      this.settle(done, true)
      return
    }
    const bytes = typeof output === 'string' ? Buffer.from(output) : new Uint8Array(output)
    const { length } = bytes
    if (length === 0) {
      // Its callback waits for what came before it, where there is room to remember that.
      if (done !== undefined && !this.empty && this.fits(0)) this.append(bytes, 0, this.open, done)
      else this.settle(done, false)
      return
    }
    let kept = false
    let at = 0
    if (this.open || this.skipping) {
      at = bytes.indexOf(NEWLINE) + 1 || length
      if (this.open) kept = this.keep(part(bytes, 0, at), true, at === length ? done : undefined)
      else {
        this.counts.lostBytes += at
        this.skipping = bytes[at - 1] !== NEWLINE
      }
    }
    const linesEnd = bytes.lastIndexOf(NEWLINE) + 1
    if (at < linesEnd) {
      kept = this.keep(part(bytes, at, linesEnd), false, linesEnd === length ? done : undefined)
      at = linesEnd
    }
    if (at < length) kept = this.keep(part(bytes, at, length), false, done)
    if (!kept) this.settle(done, true)
  }

  /** The next bytes to write: whole pieces up to `maxBytes`, or one that is longer. Undefined when there are none. */
  peek(maxBytes: number): Uint8Array | undefined {
    const first = this.pieces[this.head]
    if (first === undefined) return undefined
    const start = this.bytesOf(first).subarray(this.offset)
    const batch = [start]
    let total = start.length
    for (let i = this.head + 1; i < this.pieces.length; i++) {
      const bytes = this.bytesOf(this.pieces[i]!)
      total += bytes.length
      if (total > maxBytes) break
      batch.push(bytes)
    }
    return batch.length === 1 ? start : Buffer.concat(batch)
  }

  /** So many of the bytes that peek() gave are written. */
  advance(bytes: number): void {
    this.offset += bytes
    for (;;) {
      const piece = this.pieces[this.head]
      if (piece?.bytes === undefined || this.offset < piece.bytes.length) break
      this.offset -= piece.bytes.length
      this.head++
      this.removed(piece)
      this.counts.written += piece.lines
      this.reported += piece.gap
      this.writtenOpen = piece.open
      this.settle(piece.done, false)
    }
    this.compact()
  }

  /** Gives up all that waits. Returns how many lost lines no notice in the stream tells of; they count as told then. */
  abandon(): number {
    if (this.empty) return 0
    const first = this.pieces[this.head]!
    if (this.offset > 0) {
      const out = first.bytes!.subarray(0, this.offset)
      this.writtenOpen = !endsLine(out)
      if (first.gap === 0) {
        const lines = linesIn(out)
        this.counts.written += lines
        this.counts.lost -= lines
        this.counts.lostBytes -= this.offset
      }
    }
    for (const piece of this.pieces.splice(this.head)) this.giveUp(piece)
    this.pieces.length = this.head = this.offset = 0
    // Its newline has not come, so that none of its parts counted it.
    if (this.open) this.counts.lost++
    this.skipping ||= this.open
    this.open = false
    if (this.writtenOpen) this.append(Buffer.from(CUT_NOTICE))
    const untold = this.unreported
    this.reported = this.counts.lost
    return untold
  }

  /** Adds a line of our own. It is not counted, and left out when there is no room. */
  addNotice(text: Uint8Array): void {
    if (this.fits(text.length)) this.append(text, 0, this.open)
  }

  /** Takes whole lines, or a part of one, which may continue a line. False when they are lost. */
  private keep(bytes: Uint8Array, continues: boolean, done: D | undefined): boolean {
    const lines = linesIn(bytes)
    const open = !endsLine(bytes)
    if ((continues && this.fits(bytes.length)) || this.makeRoom(bytes.length)) {
      this.append(bytes, lines, open, done)
      this.open = open
      return true
    }
    if (continues) this.takeBackLine()
    this.lose(lines || 1, bytes.length)
    this.open = false
    this.skipping = open
    return false
  }

  /** Removes the parts of the last line, or ends it where some are written already. */
  private takeBackLine(): void {
    let start = this.pieces.length
    while (start > this.head && this.pieces[start - 1]!.open) start--
    const begun = start === this.head && (this.offset > 0 || this.writtenOpen)
    if (begun) this.append(Buffer.from(CUT_NOTICE))
    else for (const piece of this.pieces.splice(start)) this.giveUp(piece)
  }

  private fits(bytes: number): boolean {
    return this.counts.bufferedBytes + bytes + PIECE_OVERHEAD <= this.limits.bufferBytes
  }

  private get overResumption(): boolean {
    return this.counts.bufferedBytes > this.limits.bufferBytes * RESUME_AT
  }

  /** Whether a piece of so many bytes may be added, after losing older ones where that is asked for. */
  private makeRoom(bytes: number): boolean {
    const { bufferBytes, drop } = this.limits
    const cost = bytes + PIECE_OVERHEAD
    if (cost > bufferBytes || (this.losing && this.overResumption)) return false
    this.losing = false
    if (this.fits(bytes)) return true
    if (drop === 'oldest') this.evict(Math.max(cost, bufferBytes * (1 - RESUME_AT)))
    if (this.fits(bytes)) return true
    this.losing = drop === 'newest'
    return false
  }

  /** Loses the lines that have waited longest until `room` is free, and leaves a gap in their place. */
  private evict(room: number): void {
    const { pieces } = this
    let from = this.head
    // The rest of what is written in part stays with it.
    if (this.offset > 0) from++
    while (from < pieces.length && (from === this.head ? this.writtenOpen : pieces[from - 1]!.open)) from++
    const limit = this.limits.bufferBytes - room
    let cost = this.counts.bufferedBytes
    let to = from
    while (cost > limit) {
      let end = to
      while (pieces[end]?.open) end++
      if (end >= pieces.length) break
      for (; to <= end; to++) cost -= costOf(pieces[to]!)
    }
    let lines = 0
    for (const piece of pieces.splice(from, to - from)) {
      lines += piece.lines + piece.gap
      this.giveUp(piece)
    }
    if (lines === 0) return
    pieces.splice(from, 0, gapOf(lines))
    this.counts.bufferedBytes += PIECE_OVERHEAD
  }

  /** Tells of lost lines in the gap at the end of the queue, or in a new one. */
  private lose(lines: number, bytes: number): void {
    this.counts.lost += lines
    this.counts.lostBytes += bytes
    const last = this.empty ? undefined : this.pieces.at(-1)
    const begun = this.offset > 0 && last === this.pieces[this.head]
    if (last === undefined || last.gap === 0 || begun) {
      this.pieces.push(gapOf(lines))
      this.counts.bufferedBytes += PIECE_OVERHEAD
      return
    }
    this.counts.bufferedBytes -= last.bytes?.length ?? 0
    last.bytes = undefined
    last.gap += lines
  }

  private append(bytes: Uint8Array, lines = 0, open = false, done?: D): void {
    this.pieces.push({ bytes, lines, open, gap: 0, done })
    this.counts.bufferedBytes += PIECE_OVERHEAD + bytes.length
    this.counts.waiting += lines
  }

  private removed(piece: Piece<D>): void {
    this.counts.bufferedBytes -= costOf(piece)
    this.counts.waiting -= piece.lines
  }

  /** A piece that was taken out of the queue is not written. The lines of a gap are counted already. */
  private giveUp(piece: Piece<D>): void {
    this.removed(piece)
    this.counts.lost += piece.lines
    if (piece.gap === 0) this.counts.lostBytes += piece.bytes!.length
    this.settle(piece.done, true)
  }

  private bytesOf(piece: Piece<D>): Uint8Array {
    if (piece.bytes === undefined) {
      piece.bytes = Buffer.from(this.hooks.gapNotice(piece.gap))
      this.counts.bufferedBytes += piece.bytes.length
    }
    return piece.bytes
  }

  private settle(done: D | undefined, lost: boolean): void {
    if (done !== undefined) this.hooks.settled(done, lost)
  }

  /** Frees what is written now and then, so that a write costs the same however long the queue is. */
  private compact(): void {
    if (this.empty) this.pieces.length = 0
    else if (this.head > 1024 && this.head * 2 > this.pieces.length) this.pieces.splice(0, this.head)
    else return
    this.head = 0
  }
}

function gapOf<D>(lines: number): Piece<D> {
  return { bytes: undefined, lines: 0, open: false, gap: lines, done: undefined }
}

function costOf({ bytes }: { readonly bytes: Uint8Array | undefined }): number {
  return PIECE_OVERHEAD + (bytes?.length ?? 0)
}

/** A copy, unless it is the whole: a small part must not keep a large chunk in memory. */
function part(bytes: Uint8Array, from: number, to: number): Uint8Array {
  return from === 0 && to === bytes.length ? bytes : new Uint8Array(bytes.subarray(from, to))
}
