/** Evenly spaced arrivals whose rate can be changed at any time, without an end. Pure. */
import type { ArrivalSource, RequestEnd } from '../load/arrival-source.ts'

export interface Watcher {
  due(): void
  ended(latencyMs: number, end: RequestEnd, ownMs: number): void
}

export class SteeredArrivals implements ArrivalSource {
  /** Infinite until end() is called. */
  durationMs: number = Number.POSITIVE_INFINITY
  readonly #watcher: Watcher
  #gapMs: number
  #due: number
  /** New gaps that apply to later due times. */
  readonly #changes: { readonly atMs: number; readonly gapMs: number }[] = []

  /** @param rate requests per second, above 0 */
  constructor(rate: number, watcher: Watcher) {
    this.#watcher = watcher
    this.#gapMs = 1000 / rate
    this.#due = this.#gapMs / 2
  }

  /** The rest of the current gap passes at the new rate. Requests that are already due stay due. */
  steer(rate: number, nowMs: number): void {
    this.#changes.push({ atMs: nowMs, gapMs: 1000 / rate })
    this.#change()
  }

  end(nowMs: number): void {
    this.durationMs = Math.min(this.durationMs, nowMs)
  }

  peek(): number {
    return this.#due <= this.durationMs ? this.#due : Number.POSITIVE_INFINITY
  }

  advance(): void {
    this.#watcher.due()
    this.#due += this.#gapMs
    this.#change()
  }

  ended(atMs: number, _connected: boolean, due: number, end: RequestEnd, ownMs: number): void {
    this.#watcher.ended(atMs - due, end, ownMs)
  }

  #change(): void {
    for (let [next] = this.#changes; next !== undefined && next.atMs < this.#due; [next] = this.#changes) {
      this.#due = next.atMs + ((this.#due - next.atMs) * next.gapMs) / this.#gapMs
      this.#gapMs = next.gapMs
      this.#changes.shift()
    }
  }
}
