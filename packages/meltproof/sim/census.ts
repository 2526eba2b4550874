/**
 * How many handlers of a simulated process are at work, and how many of these contend: wait for the core, a connection or a
 * lock that others have. The rest progress by themselves: they wait for a timer, a dependency with room, the client, or
 * hold a connection.
 */
export class Census {
  /** The most at work at once, and the most that contended at once. */
  mostInService = 0
  mostContending = 0
  /** Those that left in each second of the run, refusals (a status of 400 and above) not counted. */
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

  /** One of them goes on by itself. */
  rests(): void {
    this.#alone++
  }

  /** And no longer. */
  resumes(): void {
    this.#alone--
    this.#note()
  }

  /** The most that left within one second. */
  get mostLeft(): number {
    return this.#leftIn.reduce((most, left) => Math.max(most, left ?? 0), 0)
  }

  #note(): void {
    if (this.contending > this.mostContending) this.mostContending = this.contending
  }
}
