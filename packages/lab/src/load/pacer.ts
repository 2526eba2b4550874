/**
 * How one worker waits: long enough to leave the core alone, short enough to be on time, and always aware of its own
 * lateness. Knows nothing of requests; times are milliseconds since the start of the run.
 *
 * The loop of Node sleeps in whole milliseconds only, and a sleep of the operating system ends 50 to 80 us late. So:
 *   - far from the next send (> 4 ms): a timer, 2 ms short of it. Answers wake the loop at once.
 *   - nothing to expect: Atomics.wait up to 0.1 ms before the send, then turns of the loop (1.5 us each).
 *   - answers to expect: turns of the loop, unless a nap is too short to be seen in the figures, because it is within
 *     2 % of how long answers take; or because of a rate (> 20,000/s) at which turning idly would cost more than work.
 *
 * Lateness: everything that came in before the last turn began has been read, so what is read now can not have waited
 * longer than since then. That bound is what certification takes off a latency to see what was the server's.
 */
import { nowMs } from './clock.ts'

/** A stretch in which the generator did not run at all. */
export interface Freeze {
  readonly atMs: number
  readonly lengthMs: number
}

/** A nap ends about this much after what was asked for (timer slack 50 us and waking up). */
const OVERSHOOT_MS = 0.075
/** How long before a send sleeping ends and turning begins. */
const AWAKE_BEFORE_MS = 0.1
/** Beyond this a timer of the loop is the better sleep. */
const TIMER_FROM_MS = 4
const TIMER_EARLY_MS = 2
/** Longest sleep on a timer: with answers to come its end is what reveals a freeze; without, what notices an abort. */
const TIMER_BUSY_MS = 5
const TIMER_IDLE_MS = 50
const NAP_SHARE = 0.02
const SHORTEST_NAP_MS = 0.1
const LONGEST_NAP_MS = 0.25
/** From this rate on (requests per millisecond) naps of `HIGH_RATE_NAP_MS` replace idle turns. */
const HIGH_RATE = 20
const HIGH_RATE_NAP_MS = 0.2
/** A timer may be this late before we call it our own lateness. */
const TIMER_SLACK_MS = 2
/**
 * Not having run for this long is a freeze: longer than any collection of garbage or slice of the scheduler that is
 * part of life, short enough to matter to every arrival rate worth measuring.
 */
export const FREEZE_MS = 100
const MOST_FREEZES = 100

export interface Outlook {
  /** When the next request is due. */
  readonly due: number
  /** Something is to be done in the very next turn. */
  readonly urgent: boolean
  /** Requests wait for a connection: every answer read later delays one of them. */
  readonly behind: boolean
  /** Answers are to be expected. */
  readonly busy: boolean
  /** How long answers take at present. */
  readonly answerScaleMs: number
  /** Requests sent per millisecond at present. */
  readonly ratePerMs: number
}

export class Pacer {
  /** Time of the latest sign of life, set by `turnBegins` and `cameIn`. */
  lastSeen = 0
  /** Time spent turning with nothing to do. */
  idleMs = 0
  readonly freezes: Freeze[] = []

  readonly #control: Int32Array
  readonly #turn: () => void
  #originMs = 0
  /** Whatever was readable before this has been read. */
  #readUntil = 0
  /** Asleep on a timer until then; 0 when turning. */
  #asleepUntil = 0
  /** When the next sign of life is due at the latest. */
  #expectedBy = 0
  #turnEnded = 0
  #worked = true
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(control: Int32Array, turn: () => void) {
    this.#control = control
    this.#turn = turn
  }

  start(originMs: number): void {
    this.#originMs = originMs
    const now = nowMs() - originMs
    this.lastSeen = now
    this.#readUntil = now
    this.#expectedBy = now
    this.#turnEnded = now
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  /** Something was sent or read in this turn. */
  did(): void {
    this.#worked = true
  }

  turnBegins(): number {
    const now = this.#alive()
    if (!this.#worked && this.#asleepUntil === 0) this.idleMs += now - this.#turnEnded
    this.#worked = false
    this.#asleepUntil = 0
    this.#readUntil = now
    clearTimeout(this.#timer)
    return now
  }

  /** Something came in: returns at most how long it may have lain unread because of us. A turn follows soon. */
  cameIn(): number {
    const late = this.#asleepUntil > 0 ? nowMs() - this.#originMs - this.#asleepUntil : 0
    const now = this.#alive()
    this.#worked = true
    if (this.#asleepUntil > 0) {
      // The loop slept and woke for this: not late at all, unless it overslept its own timer.
      if (late <= TIMER_SLACK_MS) this.#readUntil = now
      this.#asleepUntil = 0
      clearTimeout(this.#timer)
      setImmediate(this.#turn)
    }
    return now - this.#readUntil
  }

  /** Arranges for the next turn. */
  wait(outlook: Outlook): void {
    if (this.#stopped) return
    // The turn itself may have been frozen, too.
    let now = this.#alive()
    const gap = outlook.urgent ? 0 : outlook.due - now
    if (gap > TIMER_FROM_MS) {
      const ms = Math.floor(Math.min(gap - TIMER_EARLY_MS, outlook.busy ? TIMER_BUSY_MS : TIMER_IDLE_MS))
      this.#asleepUntil = now + ms
      this.#expectedBy = this.#asleepUntil
      this.#turnEnded = now
      this.#timer = setTimeout(this.#turn, ms)
      return
    }
    const nap = napMs(gap, outlook)
    if (nap > 0) {
      Atomics.wait(this.#control, 0, 0, nap)
      this.#expectedBy = now + nap
      now = this.#alive()
    }
    this.#turnEnded = now
    this.#expectedBy = now
    setImmediate(this.#turn)
  }

  #alive(): number {
    const now = nowMs() - this.#originMs
    const late = now - this.#expectedBy
    if (late >= FREEZE_MS && this.freezes.length < MOST_FREEZES) {
      this.freezes.push({ atMs: this.#expectedBy, lengthMs: late })
    }
    this.lastSeen = now
    this.#expectedBy = now
    return now
  }
}

/** How long to sleep before the next turn of the loop; 0 for not at all. */
const napMs = (gap: number, { behind, busy, answerScaleMs, ratePerMs }: Outlook): number => {
  if (gap <= 0 || behind) return 0
  if (!busy) return Math.max(0, Math.min(TIMER_FROM_MS, gap - AWAKE_BEFORE_MS))
  const unseen = Math.min(LONGEST_NAP_MS, NAP_SHARE * answerScaleMs)
  const allowed = ratePerMs >= HIGH_RATE ? Math.max(HIGH_RATE_NAP_MS, unseen) : unseen
  if (allowed < SHORTEST_NAP_MS) return 0
  if (gap > allowed) return allowed - OVERSHOOT_MS
  if (ratePerMs >= HIGH_RATE) return allowed - OVERSHOOT_MS
  // The send comes first: wake for it rather than after it.
  return Math.max(0, gap - AWAKE_BEFORE_MS)
}
