/** What each peer usually takes: the median of its last calls that no stall of ours touched. Pure and bounded. */

const MOST_PEERS = 256
const WINDOW = 31

class Recent {
  readonly #values = new Float64Array(WINDOW)
  #count = 0

  add(ms: number): void {
    this.#values[this.#count++ % WINDOW] = ms
  }

  median(lowMs: number, highMs: number): number {
    const sorted = this.#values.slice(0, Math.min(this.#count, WINDOW)).sort()
    const possible = sorted.filter(ms => ms >= lowMs && ms <= highMs)
    const list = possible.length > 0 ? possible : sorted
    return list[list.length >> 1]!
  }
}

export class UsualTimes {
  readonly #peers = new Map<string, Recent>()

  note(peer: string, ms: number): void {
    const recent = this.#peers.get(peer) ?? new Recent()
    recent.add(ms)
    this.#peers.delete(peer)
    this.#peers.set(peer, recent)
    if (this.#peers.size > MOST_PEERS) this.#peers.delete(this.#peers.keys().next().value!)
  }

  of(peer: string, lowMs = 0, highMs: number = Number.POSITIVE_INFINITY): number | undefined {
    return this.#peers.get(peer)?.median(lowMs, highMs)
  }
}
