/**
 * Answers that have begun and go on: what they do at a look, and so whether they need their permit. Only the look of an
 * answer is known, not its handler. So one that keeps writing is at work, and one that is silent may wait for events,
 * for ever, or for a slow dependency. Which of the two it is shows in what became of others of its kind. Pure.
 */
import { KINDS_IN_SERVICE } from './service-times.ts'

/** Silence of a stream whose kind is unknown, ms: watches that come at once must not hold up others until they are shed. */
const FIRST_SILENCE_MS = 100
/** So long after its silence such a stream is doubted to be a feed, ms: an answer may end until then. */
const DOUBT_MS = 1000
/** Silence or work for so long is no chance, ms. */
const CERTAIN_MS = 500
/** A gap for so long between two writes is no silence yet, ms. */
const GAP_MS = CERTAIN_MS / 2
/** So much longer it has waited for its client than it was at work, ms. */
const WAIT_MS = 50
/** No stream holds a permit for longer while others wait, ms. */
const LONG_MS = 10_000
/** Time between two looks counts up to this, ms: what exceeds it is a stall of ours, or nobody waited. */
const LOOK_MOST_MS = 20
/** Looks come at least this often while requests wait for a permit, ms; a longer gap is a stall. */
const BELIEVE_MOST_MS = 50

/**
 * - `feed`: it sends events as they come, so it gives its permit back from its head on.
 * - `unknown`: silence may mean that it is a feed. No more are let go on doubt than there are permits.
 * - `pausing`: silence means that it waits for something; when it writes again, it is at work again.
 * - `steady`: others like it ended and were never silent. So silence means that something behind us hangs.
 * - `finite`: its head says that it has an end. Otherwise as `steady`.
 */
type Habit = 'feed' | 'unknown' | 'pausing' | 'steady' | 'finite'

/** What the head of an answer says: a source of events, something with an end, or neither. */
export type Announced = 'events' | 'finite' | 'neither'

export interface Look {
  /** It was written since the last look. */
  readonly moved: boolean
  /** Its handler waits until its client has taken what was written, or sends more. */
  readonly waits: boolean
}

/** One answer that has begun. */
export class Stream {
  readonly kind: number
  readonly habit: Habit
  paused = false
  /** It has given its permit back, to take it again. */
  rested = false
  lookedAt: number
  heldMs = 0
  silentMs = 0
  waitsMs = 0
  #worksMs = 0
  readonly #look: () => Look

  constructor(kind: number, habit: Habit, look: () => Look, nowMs: number) {
    this.kind = kind
    this.habit = habit
    this.#look = look
    this.lookedAt = nowMs
  }

  look(nowMs: number): void {
    const { moved, waits } = this.#look()
    const sinceMs = Math.min(nowMs - this.lookedAt, LOOK_MOST_MS)
    this.lookedAt = nowMs
    this.heldMs += sinceMs
    this.silentMs = moved ? 0 : this.silentMs + sinceMs
    const works = !waits && this.silentMs < GAP_MS
    this.waitsMs = Math.max(0, this.waitsMs + (waits ? sinceMs : -sinceMs))
    this.#worksMs = Math.max(0, this.#worksMs + (works ? sinceMs : -sinceMs))
  }

  rests(): void {
    this.rested = true
    this.waitsMs = 0
    this.#worksMs = 0
  }

  goesOn(): void {
    this.heldMs = 0
  }

  get worksAgain(): boolean {
    return this.#worksMs >= CERTAIN_MS
  }
}

export class Streams {
  readonly #habits = new Array<Exclude<Habit, 'finite'>>(KINDS_IN_SERVICE).fill('unknown')
  /** Streams of unknown kinds that fell silent, and when, by {@link #watchedMs}. */
  readonly #doubted = new Map<Stream, number>()
  /** How long streams were watched, ms: in a stall of ours a stream may end unseen. */
  #watchedMs = 0
  #believedAt = 0

  /** `look`: asked at each look. */
  begun(kind: number, announced: Announced, look: () => Look, nowMs: number): Stream {
    return new Stream(kind, this.habitOf(kind, announced), look, nowMs)
  }

  habitOf(kind: number, announced: Announced): Habit {
    const learned = this.#habits[kind]!
    if (announced === 'finite') return 'finite'
    if (announced === 'neither' || learned === 'feed' || learned === 'pausing') return learned
    return learned === 'unknown' ? 'feed' : 'pausing'
  }

  /** Whether it gives its permit back after a look: to take it `again`, or for good. `permits`: how many there are. */
  givesBack(stream: Stream, permits: number): 'again' | 'for good' | undefined {
    const { habit, heldMs, kind, silentMs, waitsMs } = stream
    if (habit !== 'feed' && waitsMs >= WAIT_MS) return 'again'
    const silent = silentMs >= (habit === 'unknown' ? FIRST_SILENCE_MS : CERTAIN_MS)
    const long = heldMs >= LONG_MS
    const pauses = silent && (habit === 'pausing' || (habit === 'unknown' && this.#doubted.size < permits))
    if (habit !== 'feed' && !long && !pauses) return undefined
    stream.paused = true
    if (habit === 'unknown' && !long) this.#doubted.set(stream, this.#watchedMs)
    else if (habit === 'unknown') this.#habits[kind] = 'feed'
    else if (habit === 'steady' && silent) this.#habits[kind] = 'pausing'
    return habit === 'pausing' && !long ? 'again' : 'for good'
  }

  /** Believes that those which are still open are feeds. */
  believe(nowMs: number): void {
    this.#watchedMs += Math.min(nowMs - this.#believedAt, BELIEVE_MOST_MS)
    this.#believedAt = nowMs
    for (const [stream, sinceMs] of this.#doubted) {
      if (this.#watchedMs - sinceMs < DOUBT_MS) break
      this.#doubted.delete(stream)
      if (this.#habits[stream.kind] === 'unknown') this.#habits[stream.kind] = 'feed'
    }
  }

  get doubted(): number {
    return this.#doubted.size
  }

  /** It may be at work without a permit. */
  doubts(stream: Stream): boolean {
    return this.#doubted.has(stream)
  }

  /** Its client has gone. */
  gone(stream: Stream): void {
    this.#doubted.delete(stream)
  }

  /** Its handler has ended it. */
  ended(stream: Stream): void {
    const { habit, kind, paused } = stream
    this.#doubted.delete(stream)
    if (habit === 'finite') return
    if (paused) this.#habits[kind] = 'pausing'
    else if (this.#habits[kind] === 'unknown') this.#habits[kind] = 'steady'
  }
}
