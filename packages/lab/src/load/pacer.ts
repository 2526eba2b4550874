/**
 * How one worker waits: long enough to leave the core alone, short enough to be on time. Knows nothing of requests; times
 * are milliseconds since the start of the run. What may have been overlooked meanwhile is the business of lateness.ts.
 *
 * The loop of Node sleeps in whole milliseconds only, and a sleep of the operating system ends 50 to 80 us late. So:
 *   - far from the next send (> 4 ms): a timer, 2 ms short of it. Answers wake the loop at once.
 *   - nothing to expect: Atomics.wait up to 0.1 ms before the send, then turns of the loop (1.5 us each).
 *   - answers to expect: turns of the loop, unless a nap is too short to be seen in the figures, because it is within
 *     2 % of how long answers take; or because of a rate (> 20,000/s) at which turning idly would cost more than work;
 *     or because another wants this core (core-sharing.ts), which may be the server.
 */
import { nowMs } from './clock.ts'
import { CoreSharing } from './core-sharing.ts'
import { type Freeze, Lateness } from './lateness.ts'
import { type ReadScheduling, schedulingOfThisThread } from './scheduling.ts'

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
/** From this rate on (requests per millisecond) naps of `YIELDING_NAP_MS` replace idle turns. */
const HIGH_RATE = 20
/** So much later at most is read what comes in meanwhile, there and where another wants the core. */
const YIELDING_NAP_MS = 0.2

export interface Outlook {
  readonly due: number
  /** Something is to be done in the very next turn. */
  readonly urgent: boolean
  /** Requests wait for a connection: every answer read later delays one of them. */
  readonly behind: boolean
  /** Answers are to be expected. */
  readonly busy: boolean
  /** How long answers take at present. */
  readonly answerScaleMs: number
  readonly ratePerMs: number
}

export class Pacer {
  /** Time spent turning with nothing to do. */
  idleMs = 0

  readonly #control: Int32Array
  readonly #turn: () => void
  readonly #lateness = new Lateness()
  readonly #scheduling: ReadScheduling = schedulingOfThisThread()
  readonly #sharing = new CoreSharing()
  #originMs = 0
  #turnEnded = 0
  #worked = true
  /** The last turn did nothing but let the sockets be read. */
  #readFirst = false
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(control: Int32Array, turn: () => void) {
    this.#control = control
    this.#turn = turn
  }

  start(originMs: number): void {
    this.#originMs = originMs
    this.#turnEnded = this.#now()
    this.#lateness.start(this.#turnEnded)
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  /** Time of the latest sign of life, set by `turnBegins` and `cameIn`. */
  get lastSeen(): number {
    return this.#lateness.lastSeen
  }

  /** Whatever was readable before this has been read. */
  get readUpTo(): number {
    return this.#lateness.readUpTo
  }

  get freezes(): readonly Freeze[] {
    return this.#lateness.freezes
  }

  /** After a gap, what is read may not yet be all that came before it. */
  get catchingUp(): boolean {
    return this.#lateness.catchingUp
  }

  /** Something was sent or read in this turn. */
  did(): void {
    this.#worked = true
  }

  turnBegins(): number {
    const { asleep } = this.#lateness
    this.#alive()
    if (!this.#worked && !asleep) this.idleMs += this.lastSeen - this.#turnEnded
    this.#worked = false
    return this.lastSeen
  }

  /** At most how long what came in last has lain unread because of us. */
  get unreadMs(): number {
    return this.#lateness.unreadMs
  }

  /** Something came in. A turn follows soon. */
  cameIn(): void {
    const { asleep } = this.#lateness
    this.#alive()
    this.#worked = true
    if (asleep) setImmediate(this.#turn)
  }

  /**
   * True when the generator did not run for a while: then nothing may be decided in this turn, and another one follows
   * when the sockets are read. Once; a loop that is never on time must go on all the same.
   */
  readsFirst(): boolean {
    this.#readFirst = !this.#readFirst && this.#lateness.mustRead
    if (this.#readFirst) this.#poll(this.lastSeen)
    return this.#readFirst
  }

  /** Arranges for the next turn. */
  wait(outlook: Outlook): void {
    if (this.#stopped) return
    // The turn itself may have been frozen, too.
    const now = this.#alive()
    const gap = outlook.urgent ? 0 : outlook.due - now
    if (gap > TIMER_FROM_MS) {
      const ms = Math.floor(Math.min(gap - TIMER_EARLY_MS, outlook.busy ? TIMER_BUSY_MS : TIMER_IDLE_MS))
      this.#timer = setTimeout(this.#turn, ms)
      this.#lateness.sleeps(now, now + ms, this.#scheduling())
      this.#turnEnded = now
      return
    }
    const nap = napMs(gap, outlook, this.#sharing.yields(now, this.#scheduling))
    if (nap > 0) {
      this.#lateness.naps(now + nap)
      Atomics.wait(this.#control, 0, 0, nap)
    }
    this.#poll(nap > 0 ? this.#now() : now)
  }

  #poll(now: number): void {
    this.#turnEnded = now
    this.#lateness.polls(now)
    setImmediate(this.#turn)
  }

  #now(): number {
    return nowMs() - this.#originMs
  }

  #alive(): number {
    if (this.#lateness.asleep) {
      this.#lateness.woke(this.#now(), this.#scheduling())
      clearTimeout(this.#timer)
    } else {
      this.#lateness.alive(this.#now())
    }
    return this.lastSeen
  }
}

/** How long to sleep before the next turn of the loop; 0 for not at all. */
export const napMs = (
  gap: number,
  { behind, busy, answerScaleMs, ratePerMs }: Omit<Outlook, 'due' | 'urgent'>,
  yields: boolean,
): number => {
  if (gap <= 0 || behind) return 0
  if (!busy) return Math.max(0, Math.min(TIMER_FROM_MS, gap - AWAKE_BEFORE_MS))
  const unseen = Math.min(LONGEST_NAP_MS, NAP_SHARE * answerScaleMs)
  const allowed = yields || ratePerMs >= HIGH_RATE ? Math.max(YIELDING_NAP_MS, unseen) : unseen
  if (allowed < SHORTEST_NAP_MS) return 0
  if (gap > allowed) return allowed - OVERSHOOT_MS
  if (ratePerMs >= HIGH_RATE) return allowed - OVERSHOOT_MS
  // The send comes first: wake for it rather than after it.
  return Math.max(0, gap - AWAKE_BEFORE_MS)
}
