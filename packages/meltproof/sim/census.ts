/**
 * Counts the handlers of a simulated process that are at work, and those of them that contend: they wait for the core,
 * or for a connection or lock that other requests hold. The others progress by themselves: they wait for a timer, the
 * client or a dependency with free capacity, or they hold a connection.
 */
export class Census {
  /** The most handlers at work at once, and the most that contended at once. */
  mostInService = 0
  mostContending = 0
  /** Requests that left in each second of the run. Refusals (a status of 400 and above) are not counted. */
  readonly #leftIn: number[] = []
  #inService = 0
  #alone = 0

  get contending(): number {
    return this.#inService - this.#alone
  }

  enters(): void {
    this.#inService++
    if (this.#inService > this.mostInService) this.mostInService = this.#inService
    this.#note()
  }

  leaves(nowMs: number, refused: boolean): void {
    this.#inService--
    if (refused) return
    const second = Math.floor(nowMs / 1000)
    this.#leftIn[second] = (this.#leftIn[second] ?? 0) + 1
  }

  /** One handler progresses by itself from now on. */
  rests(): void {
    this.#alone++
  }

  /** One handler contends again from now on. */
  resumes(): void {
    this.#alone--
    this.#note()
  }

  /** The most requests that left within one second. */
  get mostLeft(): number {
    return this.#leftIn.reduce((most, left) => Math.max(most, left ?? 0), 0)
  }

  #note(): void {
    if (this.contending > this.mostContending) this.mostContending = this.contending
  }
}
