/**
 * What a worker may have overlooked, and for how long. Pure: it gets every time, in milliseconds since the start of the run.
 *
 * A turn of the loop ends and the loop polls: it reads everything that lies in a socket by then. So whatever is read now
 * came after the *last but one* poll began; before that poll it would have been read in it. That is the bound which
 * certification takes off a latency to see what was the server's.
 *
 * A poll that sleeps is different: it ends when something comes. Then the scheduler says how long the thread was kept from
 * running. Run more than once since it fell asleep, it was stopped or put off on the way, and the bound stays what it was.
 */
import type { Scheduling } from './scheduling.ts'

/** A stretch in which the generator did not run at all. */
export interface Freeze {
  readonly atMs: number
  readonly lengthMs: number
}

/**
 * Not having run for this long is a freeze: longer than any collection of garbage or slice of the scheduler that is
 * part of life, short enough to matter to every arrival rate worth measuring.
 */
export const FREEZE_MS = 100
const MOST_FREEZES = 100
/** Without a sign of life for this long, answers are read before anything is decided. A turn takes a few microseconds. */
export const GAP_MS = 1
/** A timer may be this late before we call it our own lateness. */
const TIMER_SLACK_MS = 2

export class Lateness {
  /** The latest sign of life. */
  lastSeen = 0
  readonly freezes: Freeze[] = []
  /** Whatever was readable before this has been read before the poll under way. */
  #readUntil = 0
  /** When the last poll began: once it is over, whatever was readable before this has been read. */
  #pollBegan = 0
  /** The end of the latest gap between two signs of life. */
  #gapEnded = Number.NEGATIVE_INFINITY
  /** When the next sign of life is due at the latest. */
  #expectedBy = 0
  #asleep = false
  #atSleep: Scheduling | undefined

  start(now: number): void {
    this.lastSeen = now
    this.#readUntil = now
    this.#pollBegan = now
    this.#expectedBy = now
  }

  get asleep(): boolean {
    return this.#asleep
  }

  /** After a poll: whatever was readable before this has been read. */
  get readUpTo(): number {
    return this.#pollBegan
  }

  /** There was a gap, and no poll since: what the sockets hold is not known. */
  get mustRead(): boolean {
    return this.#gapEnded > this.#pollBegan
  }

  /** The poll under way is the first after a gap: it may not yet have read what came before. */
  get catchingUp(): boolean {
    return this.#gapEnded > this.#readUntil
  }

  /** At most how long what is read now has lain unread. */
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

  /** A sign of life after a poll that was allowed to sleep: what it read, or its end. */
  woke(now: number, scheduling: Scheduling | undefined): void {
    const overslept = now - this.#expectedBy
    this.alive(now)
    this.#asleep = false
    const before = this.#atSleep
    const known = before !== undefined && scheduling !== undefined
    const turns = known ? scheduling.turns - before.turns : 1
    const delayMs = known ? scheduling.delayMs - before.delayMs : 0
    if (turns > 1 || overslept - delayMs > TIMER_SLACK_MS) {
      this.#gapEnded = now
      return
    }
    // It has not slept: what it read was there.
    if (turns === 0) return
    this.#readUntil = Math.max(this.#readUntil, now - delayMs)
    this.#pollBegan = Math.max(this.#pollBegan, now - delayMs)
  }

  /** A nap within a turn is to end by then. */
  naps(until: number): void {
    this.#expectedBy = until
  }

  /** A turn ends and a poll begins that looks and returns. */
  polls(now: number): void {
    this.alive(now)
    this.#readUntil = this.#pollBegan
    this.#pollBegan = now
  }

  /** A turn ends and a poll begins that sleeps until something comes, or until then. */
  sleeps(now: number, until: number, scheduling: Scheduling | undefined): void {
    this.polls(now)
    this.#expectedBy = until
    this.#asleep = true
    this.#atSleep = scheduling
  }
}
