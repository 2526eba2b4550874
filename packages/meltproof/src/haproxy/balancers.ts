/** Remembers the addresses of balancers that asked recently. Pure. */

/** An address is forgotten after this time, ms. HAProxy asks every 2 s by default. */
const GONE_MS = 10_000
/** Bounded, because every client that reaches the port can ask. */
const MOST = 64

export class Balancers {
  readonly #askedAt = new Map<string, number>()

  asks(address: string, nowMs: number): void {
    for (const [other, atMs] of this.#askedAt) if (nowMs - atMs > GONE_MS) this.#askedAt.delete(other)
    if (this.#askedAt.has(address) || this.#askedAt.size < MOST) this.#askedAt.set(address, nowMs)
  }

  get addresses(): string[] {
    return [...this.#askedAt.keys()]
  }
}
