/** Throughput at one limit, from those who were answered under it (concurrency-limiter.ts). Pure. */
export class Throughput {
  overMs = 0
  #completed = 0
  #busyMs = 0
  #servedMs = 0
  #squares = 0

  clear(): void {
    this.#completed = 0
    this.overMs = 0
    this.#busyMs = 0
    this.#servedMs = 0
    this.#squares = 0
  }

  /** So much time passed, and for so much of it the loop was busy. */
  pass(ms: number, busyMs: number): void {
    this.overMs += ms
    this.#busyMs += busyMs
  }

  count(serviceMs: number): void {
    this.#completed++
    this.#servedMs += serviceMs
    this.#squares += serviceMs * serviceMs
  }

  /** Share of the time in which the loop was busy. */
  get busy(): number {
    return this.#busyMs / this.overMs
  }

  /** Mean service time, ms. */
  get meanMs(): number {
    return this.#servedMs / Math.max(this.#completed, 1)
  }

  /** Answers per ms. */
  get rate(): number {
    return Math.max(this.#completed, 1) / this.overMs
  }

  /** The same of those who did most of the work: how many cheap ones come among heavy ones is not the limit's doing. */
  get rateByWork(): number {
    return Math.max(this.answers, 1) / this.overMs
  }

  /** As many answers as did most of the work: the effective size of a sample (Kish 1965). */
  get answers(): number {
    return this.#squares === 0 ? 0 : this.#servedMs ** 2 / this.#squares
  }
}
