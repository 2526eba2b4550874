/** The phase in which nothing is known to be scarce: the limit stays ahead of demand (TCP's slow start). Pure. */

/** A search starts this many times above the suspected knee. */
const ABOVE_KNEE = 1.5

export class Open {
  growing = true
  #grewAt = 0

  grown(limit: number, inService: number, serviceMs: number, meanMs: number, nowMs: number): number {
    if (2 * inService <= limit) return limit
    this.#grewAt = nowMs
    return limit + Math.min(1, serviceMs / meanMs)
  }

  judge(nowMs: number, grew: boolean, idleMs: number): void {
    if (grew) this.#grewAt = nowMs
    this.growing = nowMs - this.#grewAt < idleMs
  }
}

export function contendedLimit(inService: number, share: number): number {
  return Math.min(inService, Math.ceil(inService * share * ABOVE_KNEE))
}
