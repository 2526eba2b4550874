/**
 * Whether a worker has its core to itself. Pure. Where it has not, turning idly displaces what it measures: a server that is
 * ready to run waits for a slice of the scheduler, and the generator has made the latency that it reports.
 */
import type { Scheduling } from './scheduling.ts'

const LOOK_MS = 20
/** Ready to run and kept waiting for this share of the time between two looks: another wants the core. */
const WAITED_SHARE = 0.05
/** A worker that yields waits for no one, so what it sees then tells nothing; ms. */
const YIELDS_MS = 10_000

export class CoreSharing {
  #lookedAt = Number.NEGATIVE_INFINITY
  #delayMs = 0
  #yieldsUntil = Number.NEGATIVE_INFINITY

  /** Whether to leave the core to others. `read` costs some microseconds and is called seldom. */
  yields(now: number, read: () => Scheduling | undefined): boolean {
    if (now - this.#lookedAt >= LOOK_MS) this.#look(now, read()?.delayMs ?? 0)
    return now < this.#yieldsUntil
  }

  #look(now: number, delayMs: number): void {
    // The first look has nothing to compare with.
    const waited = this.#lookedAt === Number.NEGATIVE_INFINITY ? 0 : delayMs - this.#delayMs
    if (waited > WAITED_SHARE * (now - this.#lookedAt)) this.#yieldsUntil = now + YIELDS_MS
    this.#lookedAt = now
    this.#delayMs = delayMs
  }
}
