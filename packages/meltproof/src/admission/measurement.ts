/** Throughput at one limit, from those who completed under it (knee-law.ts). Pure. */

/** What a measurement saw: for how long, and who completed meanwhile. */
export class Measurement {
  completed = 0
  overMs = 0
  busyMs = 0
  /** By how much those in service together grew older: service that was given, though nobody completed. */
  agedMs = 0
  #servedMs = 0
  #squares = 0

  clear(): void {
    this.completed = 0
    this.overMs = 0
    this.busyMs = 0
    this.agedMs = 0
    this.#servedMs = 0
    this.#squares = 0
  }

  pass(ms: number, busyMs: number, agedMs: number): void {
    this.overMs += ms
    this.busyMs += busyMs
    this.agedMs += agedMs
  }

  count(serviceMs: number): void {
    this.completed++
    this.#servedMs += serviceMs
    this.#squares += serviceMs * serviceMs
  }

  /** Share of the time in which the loop was busy. */
  get busy(): number {
    return this.busyMs / this.overMs
  }

  /** What service takes whoever is in service at some moment, ms: of the cheap ones few are. */
  get typicalMs(): number {
    return this.#servedMs === 0 ? 0 : this.#squares / this.#servedMs
  }

  /**
   * Throughput, per ms. Where all take about as long, they move in volleys, and whether a window holds one volley more
   * or less is chance: there the share of service that those in service have behind them counts as well; no more than
   * there can be in service.
   */
  rate(alike: number, limit: number): number {
    return Math.max(this.#given(alike, limit), 1) / this.overMs
  }

  /**
   * The same, but as many count as did most of the work (the effective size of a sample, Kish 1965), so that cheap ones
   * among heavy ones, which are the mix and not the limit's doing, do not.
   */
  rateByWork(alike: number, limit: number): number {
    const share = this.#servedMs ** 2 / this.#squares / this.completed
    return Math.max(share * this.#given(alike, limit), 1) / this.overMs
  }

  #given(alike: number, limit: number): number {
    const mean = this.#servedMs / this.completed
    const spread = this.#squares / this.completed - mean * mean
    if (spread >= (alike * mean) ** 2) return this.completed
    return this.completed + Math.max(-limit, Math.min(limit, this.agedMs / mean))
  }
}
