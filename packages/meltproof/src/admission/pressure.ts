/**
 * Pressure from 0 to 1, over the last one to two seconds: how likely a request does not start on arrival. 0: all start.
 * Up to 0.5: a growing share waits. Above 0.5: a growing share is shed; at 1 all are.
 */
export class PressureMeter {
  #secondStart = 0
  #current = { offered: 0, waited: 0, shed: 0 }
  #previous = { offered: 0, waited: 0, shed: 0 }

  offered(nowMs: number): void {
    this.#roll(nowMs)
    this.#current.offered++
  }

  waited(): void {
    this.#current.waited++
  }

  shed(): void {
    this.#current.shed++
  }

  value(nowMs: number): number {
    this.#roll(nowMs)
    const offered = this.#current.offered + this.#previous.offered
    if (offered === 0) return 0
    // A request may be offered in one window and shed in the next, so the shares are capped.
    const waited = Math.min(1, (this.#current.waited + this.#previous.waited) / offered)
    const shed = Math.min(1, (this.#current.shed + this.#previous.shed) / offered)
    return Math.max(waited, shed) / 2 + shed / 2
  }

  #roll(nowMs: number): void {
    const age = nowMs - this.#secondStart
    if (age < WINDOW_MS) return
    this.#previous = age < 2 * WINDOW_MS ? this.#current : { offered: 0, waited: 0, shed: 0 }
    this.#current = { offered: 0, waited: 0, shed: 0 }
    this.#secondStart = nowMs
  }
}

const WINDOW_MS = 1000
