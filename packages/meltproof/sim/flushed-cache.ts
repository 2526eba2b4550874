/**
 * A cache that holds all its keys and loses them at a given time. Each key returns once a request has read it from the
 * database.
 */
export class FlushedCache {
  readonly #has: Uint8Array
  readonly #flushAtMs: number
  #flushed = false

  constructor(keys: number, flushAtMs: number) {
    this.#has = new Uint8Array(keys)
    this.#flushAtMs = flushAtMs
  }

  get keys(): number {
    return this.#has.length
  }

  has(key: number, nowMs: number): boolean {
    if (!this.#flushed && nowMs >= this.#flushAtMs) {
      this.#flushed = true
      this.#has.fill(0)
    }
    return this.#has[key] === 1
  }

  fill(key: number): void {
    this.#has[key] = 1
  }

  reset(): void {
    this.#has.fill(1)
    this.#flushed = false
  }
}
