/** The phase in which nothing is known to be scarce: the limit keeps ahead of what is asked for (TCP's slow start). Pure. */

/** A search starts so many times above where requests are said to begin to wait for each other. */
const ABOVE_KNEE = 1.5

export class Open {
  /** The limit is being raised: overload is not established yet. */
  growing = true
  #grewAt = 0

  /** The limit after an answer: it doubles in the time that service takes, however many quick answers come beside. */
  grown(limit: number, inService: number, serviceMs: number, meanMs: number, nowMs: number): number {
    if (2 * inService <= limit) return limit
    this.#grewAt = nowMs
    return limit + Math.min(1, serviceMs / meanMs)
  }

  /** `grew`: so has what does not count. It grows no more when nothing has for `idleMs`. */
  judge(nowMs: number, grew: boolean, idleMs: number): void {
    if (grew) this.#grewAt = nowMs
    this.growing = nowMs - this.#grewAt < idleMs
  }
}

/** Where a search starts, when requests wait for each other from this share of those in service on. */
export function contendedLimit(inService: number, share: number): number {
  return Math.min(inService, Math.ceil(inService * share * ABOVE_KNEE))
}
