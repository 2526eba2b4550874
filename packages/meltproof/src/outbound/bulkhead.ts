/**
 * Counts calls in flight to each origin, and decides whether another one may start. Pure. A call counts until its body
 * has ended or it has failed; otherwise a dependency that sends only heads would collect any number of calls.
 */
export class Bulkhead {
  readonly #inFlight: Map<string, number> = new Map()

  /** Returns true if a call to `origin` may start. Then call `leave` exactly once when the call ends. */
  enter(origin: string, limit: number | false): boolean {
    const inFlight = this.inFlight(origin)
    if (limit !== false && inFlight >= limit) return false
    this.#inFlight.set(origin, inFlight + 1)
    return true
  }

  leave(origin: string): void {
    const inFlight = this.inFlight(origin)
    if (inFlight <= 1) this.#inFlight.delete(origin)
    else this.#inFlight.set(origin, inFlight - 1)
  }

  inFlight(origin: string): number {
    return this.#inFlight.get(origin) ?? 0
  }

  get origins(): number {
    return this.#inFlight.size
  }
}
