/** How many balancers ask, by address. One that asks once is a person. Pure. */

/** Who has not asked for so long has gone, ms. HAProxy asks every 2 s by default. */
const GONE_MS = 10_000
const REGULAR = 3
/** More are not told apart: anybody who reaches the port can ask. */
const MOST = 64

export class Balancers {
  readonly #asked = new Map<string, { times: number; atMs: number }>()

  asks(address: string, nowMs: number): void {
    for (const [other, { atMs }] of this.#asked) if (nowMs - atMs > GONE_MS) this.#asked.delete(other)
    const before = this.#asked.get(address)
    if (before === undefined && this.#asked.size >= MOST) return
    this.#asked.set(address, { times: (before?.times ?? 0) + 1, atMs: nowMs })
  }

  /** At least 1. */
  get count(): number {
    return Math.max(1, [...this.#asked.values()].filter(({ times }) => times >= REGULAR).length)
  }

  get addresses(): string[] {
    return [...this.#asked.keys()]
  }
}
