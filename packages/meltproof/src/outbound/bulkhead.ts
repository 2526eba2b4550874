/**
 * How many calls are in flight to each origin, and whether one more may start. Pure. A call counts until its body has
 * ended or it failed: a dependency that answers with a head and then nothing still fills its compartment, and and
 * no other. An origin without calls is forgotten, so the map is as small as what is in flight.
 */

/** With calls to this many origins in flight, those to further ones are not counted: they are let through. */
const MOST_ORIGINS = 10_000

export class Bulkhead {
  readonly #inFlight: Map<string, number> = new Map()

  /** Whether a call to `origin` may start. One that was `counted` must `leave` exactly once. */
  enter(origin: string, limit: number | false): 'counted' | 'uncounted' | 'refused' {
    const inFlight = this.#inFlight.get(origin)
    if (inFlight === undefined) {
      if (this.#inFlight.size >= MOST_ORIGINS) return 'uncounted'
      this.#inFlight.set(origin, 1)
      return 'counted'
    }
    if (limit !== false && inFlight >= limit) return 'refused'
    this.#inFlight.set(origin, inFlight + 1)
    return 'counted'
  }

  leave(origin: string): void {
    const inFlight = this.#inFlight.get(origin)
    if (inFlight === undefined) return
    if (inFlight <= 1) this.#inFlight.delete(origin)
    else this.#inFlight.set(origin, inFlight - 1)
  }

  inFlight(origin: string): number {
    return this.#inFlight.get(origin) ?? 0
  }

  /** Origins with calls in flight. */
  get origins(): number {
    return this.#inFlight.size
  }
}
