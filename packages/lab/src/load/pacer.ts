/**
 * Makes one worker wait: long enough to leave the core to others, short enough to be on time. Times are milliseconds
 * since the start of the run.
 *
 * Node's loop sleeps only for whole milliseconds, and a sleep of the operating system ends 50 to 80 us late. So:
 *   - far from the next send (> 4 ms): a timer, 2 ms short of it. Answers wake the loop at once.
 *   - no answer expected: Atomics.wait until 0.1 ms before the send, then turns of the loop (1.5 us each).
 *   - answers expected: turns of the loop, with naps if the nap is too short to show in the figures (2 % of how long
 *     answers take), if idle turns would cost more than the work (from 20,000/s), or if another thread wants this core
 *     (`CoreSharing`), perhaps the server.
 */
import { nowMs } from './clock.ts'
import { Lateness } from './lateness.ts'
import { type ReadScheduling, type Scheduling, schedulingOfThisThread } from './scheduling.ts'

/** A nap ends about this late (timer slack 50 us, and waking up). */
const OVERSHOOT_MS = 0.075
/** Time before a send at which sleeping ends and busy turns begin. */
const AWAKE_BEFORE_MS = 0.1
/** For longer waits a timer of the loop is used. */
const TIMER_FROM_MS = 4
const TIMER_EARLY_MS = 2
/** Longest sleep on a timer, ms. Waking up detects a freeze if answers are expected, and an abort otherwise. */
const TIMER_BUSY_MS = 5
const TIMER_IDLE_MS = 50
const NAP_SHARE = 0.02
const SHORTEST_NAP_MS = 0.1
const LONGEST_NAP_MS = 0.25
/** From this rate on (requests per ms) naps of `YIELDING_NAP_MS` replace idle turns. */
const HIGH_RATE = 20
/** At that rate, and when another thread wants the core, data is read at most this late. */
const YIELDING_NAP_MS = 0.2

export interface Outlook {
  readonly due: number
  /** True if there is work for the next turn, so that this turn must not wait. */
  readonly urgent: boolean
  /** Requests wait for a connection, so an answer that is read late delays one of them. */
  readonly behind: boolean
  readonly busy: boolean
  /** How long answers take at present. */
  readonly answerScaleMs: number
  readonly ratePerMs: number
}

export class Pacer {
  idleMs = 0

  readonly #control: Int32Array
  readonly #turn: () => void
  readonly lateness: Lateness = new Lateness()
  readonly #scheduling: ReadScheduling = schedulingOfThisThread()
  readonly #sharing = new CoreSharing()
  #originMs = 0
  #turnEnded = 0
  #worked = true
  /** The last turn only read the sockets. */
  #readFirst = false
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(control: Int32Array, turn: () => void) {
    this.#control = control
    this.#turn = turn
  }

  start(originMs: number): void {
    this.#originMs = originMs
    this.#turnEnded = this.now()
    this.lateness.start(this.#turnEnded)
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  /** This turn has sent or read something. */
  did(): void {
    this.#worked = true
  }

  turnBegins(): number {
    const { asleep } = this.lateness
    const now = this.#alive()
    if (!this.#worked && !asleep) this.idleMs += now - this.#turnEnded
    this.#worked = false
    return now
  }

  /** Data arrived. A turn follows soon. */
  noteInput(): void {
    const { asleep } = this.lateness
    this.#alive()
    this.#worked = true
    if (asleep) setImmediate(this.#turn)
  }

  /**
   * True if the generator did not run for a while: then this turn decides nothing, and another one follows once the
   * sockets are read. Never true twice in a row, because a loop that is always late must send too.
   */
  readsFirst(): boolean {
    this.#readFirst = !this.#readFirst && this.lateness.mustRead
    if (this.#readFirst) this.#poll(this.lateness.lastSeen)
    return this.#readFirst
  }

  wait(outlook: Outlook): void {
    if (this.#stopped) return
    // The generator may also have been frozen during the turn.
    const now = this.#alive()
    const gap = outlook.urgent ? 0 : outlook.due - now
    if (gap > TIMER_FROM_MS) {
      const ms = Math.floor(Math.min(gap - TIMER_EARLY_MS, outlook.busy ? TIMER_BUSY_MS : TIMER_IDLE_MS))
      this.#timer = setTimeout(this.#turn, ms)
      this.lateness.sleeps(now, now + ms, this.#scheduling())
      this.#turnEnded = now
      return
    }
    const nap = napMs(gap, outlook, this.#sharing.yields(now, this.#scheduling))
    if (nap > 0) {
      this.lateness.naps(now + nap)
      Atomics.wait(this.#control, 0, 0, nap)
    }
    this.#poll(nap > 0 ? this.now() : now)
  }

  #poll(now: number): void {
    this.#turnEnded = now
    this.lateness.polls(now)
    setImmediate(this.#turn)
  }

  now(): number {
    return nowMs() - this.#originMs
  }

  #alive(): number {
    if (this.lateness.asleep) {
      this.lateness.woke(this.now(), this.#scheduling())
      clearTimeout(this.#timer)
    } else {
      this.lateness.alive(this.now())
    }
    return this.lateness.lastSeen
  }
}

/** Time to sleep before the next turn of the loop; 0 for no sleep. */
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
  // The send has priority: wake up before it, not after it.
  return Math.max(0, gap - AWAKE_BEFORE_MS)
}

const LOOK_MS = 20
/** Another thread wants the core if the worker was ready but waited for this share of the time between two checks. */
const WAITED_SHARE = 0.05
/** Time for which a worker yields, ms. A worker that yields never waits for the core, so checks would show nothing. */
const YIELDS_MS = 10_000

/** Detects whether a worker shares its core, so that its idle turns would delay the measured server. */
export class CoreSharing {
  #lookedAt = Number.NEGATIVE_INFINITY
  #delayMs = 0
  #yieldsUntil = Number.NEGATIVE_INFINITY

  /** True if the core should be left to other threads. `read` costs some microseconds and is called rarely. */
  yields(now: number, read: () => Scheduling | undefined): boolean {
    if (now - this.#lookedAt >= LOOK_MS) {
      const delayMs = read()?.delayMs ?? 0
      // At the first check the time since the last check is infinite, so no delay counts.
      if (delayMs - this.#delayMs > WAITED_SHARE * (now - this.#lookedAt)) this.#yieldsUntil = now + YIELDS_MS
      this.#lookedAt = now
      this.#delayMs = delayMs
    }
    return now < this.#yieldsUntil
  }
}
