/** Evenly spaced arrivals whose rate can be changed at any time, without an end. Pure. */
import type { ArrivalSource, RequestEnd } from '../load/arrival-source.ts'
import type { SideCounter } from './side-counter.ts'

type Counter = Pick<SideCounter, 'due' | 'ended'>

export class SteeredArrivals implements ArrivalSource {
  /** Infinite until end() is called. */
  durationMs: number = Number.POSITIVE_INFINITY
  readonly #counter: Counter
  #gapMs: number
  #due: number
  /** New gaps that apply to later due times. */
  readonly #changes: { readonly atMs: number; readonly gapMs: number }[] = []

  /** @param rate requests per second, above 0 */
  constructor(rate: number, counter: Counter) {
    this.#counter = counter
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
    this.#counter.due()
    this.#due += this.#gapMs
    this.#change()
  }

  ended(atMs: number, _connected: boolean, due: number, end: RequestEnd, ownMs: number): void {
    this.#counter.ended(atMs - due, end, ownMs)
  }

  #change(): void {
    for (let [next] = this.#changes; next !== undefined && next.atMs < this.#due; [next] = this.#changes) {
      this.#due = next.atMs + ((this.#due - next.atMs) * next.gapMs) / this.#gapMs
      this.#gapMs = next.gapMs
      this.#changes.shift()
    }
  }
}
