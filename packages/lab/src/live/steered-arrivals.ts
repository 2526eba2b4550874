/** Arrivals whose rate can be set while they come, evenly spaced, for as long as it takes. Pure. */
import type { ArrivalSource, RequestEnd } from '../load/arrival-source.ts'

/** Is told of every request: when it was due, and what came of it. */
export interface Watcher {
  due(): void
  ended(latencyMs: number, end: RequestEnd, ownMs: number): void
}

export class SteeredArrivals implements ArrivalSource {
  /** Until it is told to end. */
  durationMs: number = Number.POSITIVE_INFINITY
  readonly #watcher: Watcher
  #gapMs: number
  #due: number
  /** New gaps that what is due has not come to yet. */
  readonly #changes: { readonly atMs: number; readonly gapMs: number }[] = []

  /** @param rate above 0, per second */
  constructor(rate: number, watcher: Watcher) {
    this.#watcher = watcher
    this.#gapMs = 1000 / rate
    this.#due = this.#gapMs / 2
  }

  /** What is left of the gap then passes at the new rate. What was due before, and has not been sent yet, stays due. */
  steer(rate: number, nowMs: number): void {
    this.#changes.push({ atMs: nowMs, gapMs: 1000 / rate })
    this.#change()
  }

  /** Nothing is due after `nowMs`. */
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
