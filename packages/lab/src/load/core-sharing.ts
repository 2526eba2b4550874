/** Detects whether a worker shares its core, so that its idle turns would delay the measured server. Pure. */
import type { Scheduling } from './scheduling.ts'

const LOOK_MS = 20
/** Another thread wants the core if the worker was ready but waited for this share of the time between two checks. */
const WAITED_SHARE = 0.05
/** How long a worker yields, ms. Meanwhile it never waits for the core, so checks would show nothing. */
const YIELDS_MS = 10_000

export class CoreSharing {
  #lookedAt = Number.NEGATIVE_INFINITY
  #delayMs = 0
  #yieldsUntil = Number.NEGATIVE_INFINITY

  /** Whether to leave the core to other threads. `read` costs some microseconds and is called rarely. */
  yields(now: number, read: () => Scheduling | undefined): boolean {
    if (now - this.#lookedAt >= LOOK_MS) this.#look(now, read()?.delayMs ?? 0)
    return now < this.#yieldsUntil
  }

  #look(now: number, delayMs: number): void {
    // The first check has nothing to compare with.
    const waited = this.#lookedAt === Number.NEGATIVE_INFINITY ? 0 : delayMs - this.#delayMs
    if (waited > WAITED_SHARE * (now - this.#lookedAt)) this.#yieldsUntil = now + YIELDS_MS
    this.#lookedAt = now
    this.#delayMs = delayMs
  }
}
