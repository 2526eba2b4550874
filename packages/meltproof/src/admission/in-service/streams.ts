/**
 * Tracks answers that have begun and continue, and decides whether they need their permit. Checks see only the answer,
 * not the handler. An answer that keeps writing comes from a working handler; a silent one may wait for events, perhaps
 * for ever, or for a slow dependency. How other answers of its kind ended shows which. Pure.
 */
import { KINDS_IN_SERVICE } from './service-times.ts'

/** A stream of unknown kind counts as silent after this time, ms: with a longer time, event feeds delay requests. */
const FIRST_SILENCE_MS = 100
/** A stream of unknown kind that stays open for this time after it fell silent counts as an event feed, ms. */
const DOUBT_MS = 1000
/** Silence or work that lasts this long is not due to chance, ms. */
const CERTAIN_MS = 500
/** A shorter gap between two writes is not silence, ms. */
const GAP_MS = CERTAIN_MS / 2
/** A stream waits for its client if it has waited this much longer than it worked, ms. */
const WAIT_MS = 50
/** While requests wait, a stream holds a permit for at most this time, ms. */
const LONG_MS = 10_000
/** At most this much of the time between two checks counts, ms: a longer gap is a stall, or no request waited. */
const LOOK_MOST_MS = 20
/** At most this much of the time between two checks counts as watched, ms: a longer gap is a stall. */
const MOST_WATCHED_MS = 50

/**
 * - `feed`: it sends events as they occur, so it gives its permit back as soon as its head is sent.
 * - `unknown`: silence may mean that it is a feed. At most as many silent streams as permits are doubted.
 * - `pausing`: silence means that it waits for something; when it writes again, it works again.
 * - `steady`: others of its kind ended and were never silent. So silence means that a dependency hangs.
 * - `finite`: its head says that it has an end. Like `steady`, but its end says nothing about its kind.
 */
type Habit = 'feed' | 'unknown' | 'pausing' | 'steady' | 'finite'

/** The head of an answer announces a source of events, something with an end, or neither. */
export type Announced = 'events' | 'finite' | 'neither'

export interface Look {
  /** True if the answer was written to since the last check. */
  readonly moved: boolean
  /** True while the handler waits until its client has received what was written, or sends more. */
  readonly waits: boolean
}

/** One answer that has begun. */
export class Stream {
  readonly kind: number
  readonly habit: Habit
  paused = false
  /** True once the stream has given its permit back in order to take it again later. */
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

  restartHold(): void {
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
  /** How long streams were watched, ms, without stalls, because during a stall a stream may end unseen. */
  #watchedMs = 0
  #acceptedAt = 0

  /** `look`: called at each check. */
  begun(kind: number, announced: Announced, look: () => Look, nowMs: number): Stream {
    return new Stream(kind, this.habitOf(kind, announced), look, nowMs)
  }

  habitOf(kind: number, announced: Announced): Habit {
    const learned = this.#habits[kind]!
    if (announced === 'finite') return 'finite'
    if (announced === 'neither' || learned === 'feed' || learned === 'pausing') return learned
    return learned === 'unknown' ? 'feed' : 'pausing'
  }

  /** `for now`: the stream gives its permit back for a while; `for good`: for ever. At most `permits` are doubted. */
  givesBack(stream: Stream, permits: number): 'for now' | 'for good' | undefined {
    const { habit, heldMs, kind, silentMs, waitsMs } = stream
    if (habit !== 'feed' && waitsMs >= WAIT_MS) return 'for now'
    const silent = silentMs >= (habit === 'unknown' ? FIRST_SILENCE_MS : CERTAIN_MS)
    const long = heldMs >= LONG_MS
    const pauses = silent && (habit === 'pausing' || (habit === 'unknown' && this.#doubted.size < permits))
    if (habit !== 'feed' && !long && !pauses) return undefined
    stream.paused = true
    if (habit === 'unknown' && !long) this.#doubted.set(stream, this.#watchedMs)
    else if (habit === 'unknown') this.#habits[kind] = 'feed'
    else if (habit === 'steady' && silent) this.#habits[kind] = 'pausing'
    return habit === 'pausing' && !long ? 'for now' : 'for good'
  }

  /** Treats doubted streams as feeds when they are still open after DOUBT_MS. */
  acceptDoubts(nowMs: number): void {
    this.#watchedMs += Math.min(nowMs - this.#acceptedAt, MOST_WATCHED_MS)
    this.#acceptedAt = nowMs
    for (const [stream, sinceMs] of this.#doubted) {
      if (this.#watchedMs - sinceMs < DOUBT_MS) break
      this.#doubted.delete(stream)
      if (this.#habits[stream.kind] === 'unknown') this.#habits[stream.kind] = 'feed'
    }
  }

  get doubted(): number {
    return this.#doubted.size
  }

  /** True if the stream may work without a permit. */
  doubts(stream: Stream): boolean {
    return this.#doubted.has(stream)
  }

  /** Called when the client of the stream has left. */
  gone(stream: Stream): void {
    this.#doubted.delete(stream)
  }

  /** Called when the handler has ended the stream. */
  ended(stream: Stream): void {
    const { habit, kind, paused } = stream
    this.#doubted.delete(stream)
    if (habit === 'finite') return
    if (paused) this.#habits[kind] = 'pausing'
    else if (this.#habits[kind] === 'unknown') this.#habits[kind] = 'steady'
  }
}
