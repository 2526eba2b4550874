/**
 * Computes how long input may have waited in a worker's sockets before it was read. Pure: every time is passed in, as
 * milliseconds since the start of the run.
 *
 * A turn of the loop ends with a poll, which reads everything that the sockets contain. So data read now arrived after
 * the *last but one* poll began. A poll that sleeps ends when data arrives; then the scheduler reports how long the
 * thread waited for a core. If the thread ran more than once since it fell asleep, the time up to which everything has
 * been read does not advance.
 */
import type { Scheduling } from './scheduling.ts'

export interface Freeze {
  readonly atMs: number
  readonly lengthMs: number
}

/** A pause of this length is a freeze: usual garbage collections and scheduler slices are shorter. */
export const FREEZE_MS = 100
const MOST_FREEZES = 100
/** After a pause of this length, answers are read before anything is decided. A turn takes a few microseconds. */
const GAP_MS = 1
/** A timer that is later than this counts as the generator's lateness. */
const TIMER_SLACK_MS = 2

export class Lateness {
  /** When the generator last showed that it runs. */
  lastSeen = 0
  readonly freezes: Freeze[] = []
  /** Data that is read now became readable after this time. */
  #readUntil = 0
  /** When the last poll began. Once its data has been handled, everything readable before this time has been read. */
  #pollBegan = 0
  #gapEnded = Number.NEGATIVE_INFINITY
  /** The latest time at which the generator should show again that it runs. */
  #expectedBy = 0
  asleep = false
  #atSleep: Scheduling | undefined

  start(now: number): void {
    this.lastSeen = now
    this.#readUntil = now
    this.#pollBegan = now
    this.#expectedBy = now
  }

  /** After a poll: everything readable before this has been read. */
  get readUpTo(): number {
    return this.#pollBegan
  }

  /** True if no poll has begun since the last pause: the content of the sockets is unknown. */
  get mustRead(): boolean {
    return this.#gapEnded > this.#pollBegan
  }

  /** True during the first poll after a pause: it may not have read all earlier data yet. */
  get catchingUp(): boolean {
    return this.#gapEnded > this.#readUntil
  }

  /** The maximum time for which data that is read now was unread. */
  get unreadMs(): number {
    return this.lastSeen - this.#readUntil
  }

  alive(now: number): void {
    const late = now - this.#expectedBy
    if (late >= FREEZE_MS && this.freezes.length < MOST_FREEZES) {
      this.freezes.push({ atMs: this.#expectedBy, lengthMs: late })
    }
    if (late > GAP_MS) this.#gapEnded = now
    this.lastSeen = now
    this.#expectedBy = now
  }

  /** The generator runs again after a poll that could sleep, because data arrived or the poll ended. */
  woke(now: number, scheduling: Scheduling | undefined): void {
    const overslept = now - this.#expectedBy
    this.alive(now)
    this.asleep = false
    const before = this.#atSleep
    const known = before !== undefined && scheduling !== undefined
    const turns = known ? scheduling.turns - before.turns : 1
    const delayMs = known ? scheduling.delayMs - before.delayMs : 0
    if (turns > 1 || overslept - delayMs > TIMER_SLACK_MS) {
      this.#gapEnded = now
      return
    }
    // The thread has not slept, so the data was already there.
    if (turns === 0) return
    this.#readUntil = Math.max(this.#readUntil, now - delayMs)
    this.#pollBegan = Math.max(this.#pollBegan, now - delayMs)
  }

  /** The thread sleeps within this turn of the loop (Atomics.wait), and should wake up by `until`. */
  naps(until: number): void {
    this.#expectedBy = until
  }

  /** A turn ends with a poll that returns at once. */
  polls(now: number): void {
    this.alive(now)
    this.#readUntil = this.#pollBegan
    this.#pollBegan = now
  }

  /** A turn ends with a poll that sleeps until data arrives, or until `until`. */
  sleeps(now: number, until: number, scheduling: Scheduling | undefined): void {
    this.polls(now)
    this.#expectedBy = until
    this.asleep = true
    this.#atSleep = scheduling
  }
}
