/**
 * A bounded queue of log output that loses whole lines only and knows exactly how many. Pure: bytes in, bytes out, no
 * clock, no Node API. It must not know where the bytes go.
 *
 * What is queued is a list of pieces. A piece is some whole lines, or a part of one line (a prompt, a progress bar);
 * parts of one line are kept or lost together. Where lines were lost stands a gap: a piece that turns into a notice,
 * with its final count, when its turn to be written comes. At all times
 * `written + waiting + lost = logged`, in lines.
 */

const NEWLINE = 10

/** Bytes a queued piece costs beside its own: the objects that hold it (measured 150 to 180 on Node 24). */
export const PIECE_OVERHEAD = 160

/** A write of many lines is kept or lost in runs of whole lines no longer than this, in bytes. */
const RUN_BYTES = 65_536

/** Having had to lose lines, the queue keeps losing until it is this empty: one gap, not one after every line. */
const RESUME_AT = 0.5

export interface LineQueueHooks<D> {
  /** The notice written where `lines` lines were lost; ends in a newline. */
  gap(lines: number): Uint8Array
  /** Ends a line of which the first part was written already and the rest is lost; ends in a newline. */
  cut(): Uint8Array
  /** What was handed to push() is written (`lost` false) or given up. Once for each push that had a `done`. */
  settled(done: D, lost: boolean): void
}

export interface LineQueueLimits {
  /** What all pieces may cost together. */
  readonly maxBytes: number
  /** Which lines to lose when there is no room: those that come, or those that have waited longest. */
  readonly drop: 'newest' | 'oldest'
}

interface Piece<D> {
  /** Undefined: a gap whose notice is not made yet. */
  bytes: Uint8Array | undefined
  /** Newlines of the user's in `bytes`. */
  readonly lines: number
  /** Ends within a line. */
  readonly open: boolean
  /** Begins within a line. */
  readonly continues: boolean
  /** Lines this notice tells of; 0 for the user's own bytes. */
  gap: number
  readonly done: D | undefined
}

export class LineQueue<D> {
  limits: LineQueueLimits
  private readonly hooks: LineQueueHooks<D>
  private pieces: Piece<D>[] = []
  private head = 0
  /** Bytes of the first piece that are written. */
  private offset = 0
  /** Pieces at the front that a writer holds; they are neither lost nor joined. */
  private held = 0
  private cost = 0
  private waitingLines = 0
  /** What was last accepted ends within a line. */
  private open = false
  /** What was last written ends within a line. */
  private writtenOpen = false
  /** The line that is being logged is lost already: its remaining parts go after it. */
  private skipping = false
  /** Lines are being lost until there is room again. */
  private losing = false
  private writtenLines = 0
  private lostLines = 0
  private givenUpBytes = 0
  private reportedLines = 0

  constructor(limits: LineQueueLimits, hooks: LineQueueHooks<D>) {
    this.limits = limits
    this.hooks = hooks
  }

  /** Lines written whole. */
  get written(): number {
    return this.writtenLines
  }

  /** Lines queued. */
  get waiting(): number {
    return this.waitingLines
  }

  /** Lines lost, in whole or in part. */
  get lost(): number {
    return this.lostLines
  }

  /** Bytes lost. */
  get lostBytes(): number {
    return this.givenUpBytes
  }

  /** Lost lines that no notice has told of yet. */
  get unreported(): number {
    return this.lostLines - this.reportedLines
  }

  /** What is queued costs this many bytes. */
  get used(): number {
    return this.cost
  }

  get empty(): boolean {
    return this.head === this.pieces.length
  }

  /** Nothing is queued and no line is half lost: what comes may go straight to where it is written. */
  get clear(): boolean {
    return this.empty && !this.skipping
  }

  /** Whole lines that come now are lost; who knows that need not copy them for push(). */
  get turnsAway(): boolean {
    return this.losing && !this.open && !this.skipping && this.cost > this.limits.maxBytes * RESUME_AT
  }

  /** Loses whole lines that are not wanted: {@link turnsAway}. */
  turnAway(lines: number, bytes: number, done?: D): void {
    this.lose(lines, bytes)
    this.settle(done, true)
  }

  /** Accounts for output that went past the queue, which was {@link clear}. */
  passed(lines: number, open: boolean): void {
    this.writtenLines += lines
    this.open = this.writtenOpen = open
  }

  /** Takes output over; the bytes must not change afterwards. */
  push(chunk: Uint8Array, done?: D): void {
    const { length } = chunk
    if (length === 0) {
      // Its callback waits for what came before it, where there is room to remember that.
      const waits = done !== undefined && !this.empty && this.cost + PIECE_OVERHEAD <= this.limits.maxBytes
      if (waits) this.append({ bytes: chunk, lines: 0, open: this.open, continues: this.open, gap: 0, done })
      else this.settle(done, false)
      return
    }
    let at = 0
    let kept = false
    if (this.skipping || this.open) {
      const end = chunk.indexOf(NEWLINE) + 1 || length
      const closes = chunk[end - 1] === NEWLINE
      const last = end === length ? done : undefined
      if (this.skipping) {
        this.skipping = !closes
        this.givenUpBytes += end
      } else kept = this.continueLine(part(chunk, 0, end), closes, last)
      at = end
    }
    const linesEnd = chunk.lastIndexOf(NEWLINE) + 1
    while (at < linesEnd) {
      const end = linesEnd - at <= RUN_BYTES ? linesEnd : endOfRun(chunk, at)
      const lines = count(chunk, at, end)
      kept = this.add(chunk, at, end, lines, false, end === length ? done : undefined)
      if (!kept) this.lose(lines, end - at)
      at = end
    }
    if (at < length) {
      kept = this.add(chunk, at, length, 0, true, done)
      if (kept) this.open = true
      else {
        this.lose(1, length - at)
        this.skipping = true
      }
    }
    if (!kept) this.settle(done, true)
  }

  /**
   * The next bytes to write: whole pieces up to `maxBytes`, or the one piece that is longer. Undefined when there are
   * none. With `hold` they stay as they are until advance(), for a writer that takes its time.
   */
  peek(maxBytes: number, hold = false): Uint8Array | undefined {
    const first = this.pieces[this.head]
    if (first === undefined) return undefined
    const start = this.bytesOf(first).subarray(this.offset)
    let total = start.length
    let end = this.head + 1
    for (; end < this.pieces.length; end++) {
      const { length } = this.bytesOf(this.pieces[end]!)
      if (total + length > maxBytes) break
      total += length
    }
    if (hold) this.held = end - this.head
    if (end === this.head + 1) return start
    const joined = new Uint8Array(total)
    joined.set(start)
    let at = start.length
    for (let i = this.head + 1; i < end; i++) {
      const { bytes } = this.pieces[i]!
      joined.set(bytes!, at)
      at += bytes!.length
    }
    return joined
  }

  /** So many of the bytes peek() gave are written. */
  advance(bytes: number): void {
    this.held = 0
    this.offset += bytes
    for (;;) {
      const piece = this.pieces[this.head]
      if (piece?.bytes === undefined || this.offset < piece.bytes.length) break
      this.offset -= piece.bytes.length
      this.head++
      this.forget(piece)
      this.writtenLines += piece.lines
      this.reportedLines += piece.gap
      this.writtenOpen = piece.open
      this.settle(piece.done, false)
    }
    this.compact()
  }

  /** A writer that held pieces failed: none of them is written. */
  release(): void {
    this.held = 0
  }

  /** Gives up all that waits. */
  abandon(): void {
    if (this.empty) return
    let lines = this.open ? 1 : 0
    const first = this.pieces[this.head]
    if (first !== undefined && this.offset > 0) {
      // Of several lines some may be out; the one that is half out is lost, and ended should anything follow it.
      const out = first.gap === 0 ? count(first.bytes!, 0, this.offset) : 0
      this.writtenLines += out
      lines -= out
      this.writtenOpen = first.bytes![this.offset - 1] !== NEWLINE
    }
    const given = this.pieces.slice(this.head)
    this.givenUpBytes -= first !== undefined && first.gap === 0 ? this.offset : 0
    for (const piece of given) {
      lines += piece.lines
      if (piece.gap === 0) this.givenUpBytes += piece.bytes!.length
    }
    this.pieces = []
    this.head = this.offset = this.held = this.cost = this.waitingLines = 0
    this.lostLines += lines
    this.skipping ||= this.open
    this.open = false
    if (this.writtenOpen) {
      this.append(own(this.hooks.cut()))
      this.writtenOpen = false
    }
    for (const { done } of given) this.settle(done, true)
  }

  /** A line that is not the user's; it is not counted, and left out when there is no room. */
  note(text: Uint8Array): void {
    if (this.cost + text.length + PIECE_OVERHEAD > this.limits.maxBytes) return
    this.append({ ...own<D>(text), continues: this.open, open: this.open })
  }

  /** After abandon(): the lost lines that no notice in the stream told of; from now on they count as told. */
  takeUnreported(): number {
    const lines = this.unreported
    this.reportedLines = this.lostLines
    return lines
  }

  private add(chunk: Uint8Array, from: number, to: number, lines: number, open: boolean, done: D | undefined): boolean {
    if (!this.makeRoom(to - from)) return false
    this.append({ bytes: part(chunk, from, to), lines, open, continues: false, gap: 0, done })
    return true
  }

  /** The next part of a line whose first part was accepted. False when that line is lost now. */
  private continueLine(bytes: Uint8Array, closes: boolean, done: D | undefined): boolean {
    if (this.cost + bytes.length + PIECE_OVERHEAD <= this.limits.maxBytes || this.makeRoom(bytes.length)) {
      this.append({ bytes, lines: closes ? 1 : 0, open: !closes, continues: true, gap: 0, done })
      this.open = !closes
      return true
    }
    let start = this.pieces.length
    const front = this.head + (this.offset > 0 ? Math.max(1, this.held) : this.held)
    while (start > front && this.pieces[start - 1]!.continues) start--
    let lost = bytes.length
    if (start > front) {
      for (const piece of this.pieces.splice(start - 1)) {
        this.forget(piece)
        lost += piece.bytes!.length
        this.settle(piece.done, true)
      }
    } else {
      this.append(own(this.hooks.cut()))
    }
    this.open = false
    this.skipping = !closes
    this.lose(1, lost)
    return false
  }

  /** Whether a piece of so many bytes may be appended, after losing older ones where that is asked for. */
  private makeRoom(bytes: number): boolean {
    const { maxBytes, drop } = this.limits
    const cost = bytes + PIECE_OVERHEAD
    if (cost > maxBytes) return false
    if (this.losing && this.cost > maxBytes * RESUME_AT) return false
    this.losing = false
    if (this.cost + cost <= maxBytes) return true
    if (drop === 'oldest') this.evict(Math.max(cost, maxBytes * (1 - RESUME_AT)))
    if (this.cost + cost <= maxBytes) return true
    this.losing = drop === 'newest'
    return false
  }

  /** Loses the longest waiting lines until `room` is free, leaving a gap in their place. */
  private evict(room: number): void {
    const { pieces } = this
    let from = this.head + (this.offset > 0 ? Math.max(1, this.held) : this.held)
    // The rest of a line that is out in part stays with it.
    while (from < pieces.length && pieces[from]!.continues) from++
    let to = from
    let lines = 0
    let told = 0
    const limit = this.limits.maxBytes - room
    const settled: Piece<D>[] = []
    while (to < pieces.length && this.cost > limit) {
      let end = to + 1
      while (end < pieces.length && pieces[end]!.continues) end++
      if (pieces[end - 1]!.open) break
      for (; to < end; to++) {
        const piece = pieces[to]!
        this.forget(piece)
        if (piece.gap === 0) this.givenUpBytes += piece.bytes!.length
        lines += piece.lines
        told += piece.gap
        settled.push(piece)
      }
    }
    if (to === from) return
    this.lostLines += lines
    if (lines + told > 0) {
      to--
      this.pieces[to] = {
        bytes: undefined,
        lines: 0,
        open: false,
        continues: false,
        gap: lines + told,
        done: undefined,
      }
      this.cost += PIECE_OVERHEAD
    }
    const kept = from - this.head
    pieces.copyWithin(to - kept, this.head, from)
    this.head = to - kept
    this.compact()
    for (const piece of settled) this.settle(piece.done, true)
  }

  private lose(lines: number, bytes: number): void {
    this.lostLines += lines
    this.givenUpBytes += bytes
    const index = this.pieces.length - 1
    const last = this.pieces[index]
    const untouched = index >= this.head + Math.max(this.held, this.offset > 0 ? 1 : 0)
    if (last !== undefined && last.gap > 0 && untouched) {
      this.cost -= last.bytes?.length ?? 0
      last.bytes = undefined
      last.gap += lines
    } else {
      this.append({ bytes: undefined, lines: 0, open: false, continues: false, gap: lines, done: undefined })
    }
  }

  private append(piece: Piece<D>): void {
    this.pieces.push(piece)
    this.cost += costOf(piece)
    this.waitingLines += piece.lines
  }

  private forget(piece: Piece<D>): void {
    this.cost -= costOf(piece)
    this.waitingLines -= piece.lines
  }

  private bytesOf(piece: Piece<D>): Uint8Array {
    if (piece.bytes === undefined) {
      piece.bytes = this.hooks.gap(piece.gap)
      this.cost += piece.bytes.length
    }
    return piece.bytes
  }

  private settle(done: D | undefined, lost: boolean): void {
    if (done !== undefined) this.hooks.settled(done, lost)
  }

  /** Gives the memory of what is written back, now and then, so that a push costs the same however long the queue. */
  private compact(): void {
    if (this.head === this.pieces.length) {
      this.pieces.length = this.head = 0
    } else if (this.head > 1024 && this.head * 2 > this.pieces.length) {
      this.pieces.splice(0, this.head)
      this.head = 0
    }
  }
}

function own<D>(bytes: Uint8Array): Piece<D> {
  return { bytes, lines: 0, open: false, continues: true, gap: 0, done: undefined }
}

function costOf({ bytes }: { readonly bytes: Uint8Array | undefined }): number {
  return PIECE_OVERHEAD + (bytes?.length ?? 0)
}

/** A copy, unless it is the whole: a small part must not keep a large chunk in memory. */
function part(chunk: Uint8Array, from: number, to: number): Uint8Array {
  return from === 0 && to === chunk.length ? chunk : new Uint8Array(chunk.subarray(from, to))
}

/** Newlines within [from, to). */
function count(bytes: Uint8Array, from: number, to: number): number {
  let lines = 0
  for (let at = bytes.indexOf(NEWLINE, from); at !== -1 && at < to; at = bytes.indexOf(NEWLINE, at + 1)) lines++
  return lines
}

/** The end of the last whole line within RUN_BYTES of `from`, or of the first when that is longer. */
function endOfRun(bytes: Uint8Array, from: number): number {
  const end = bytes.lastIndexOf(NEWLINE, from + RUN_BYTES - 1) + 1
  return end > from ? end : bytes.indexOf(NEWLINE, from) + 1
}
