/**
 * A loop whose time is ours: replaces the clocks and intervals that toobusy implementations use. Only as much as they
 * need: an interval that is late fires once, and is due again a whole interval after it fired, as in Node.
 */
interface Interval {
  readonly callback: () => void
  readonly everyMs: number
  dueMs: number
}

export class FakeLoop {
  nowMs = 1_000_000
  readonly #intervals = new Set<Interval>()
  readonly #undo: (() => void)[] = []

  constructor() {
    const replace = <T extends object, K extends keyof T>(object: T, name: K, value: T[K]): void => {
      const was = object[name]
      object[name] = value
      this.#undo.push(() => {
        object[name] = was
      })
    }
    replace(Date, 'now', () => this.nowMs)
    replace(performance, 'now', () => this.nowMs)
    replace(globalThis, 'setInterval', ((callback: () => void, everyMs: number) => {
      const interval: Interval = { callback, everyMs, dueMs: this.nowMs + everyMs }
      this.#intervals.add(interval)
      return Object.assign(interval, { unref: () => interval })
    }) as unknown as typeof setInterval)
    replace(globalThis, 'clearInterval', ((interval: Interval) => {
      this.#intervals.delete(interval)
    }) as unknown as typeof clearInterval)
  }

  once(callback: () => void, afterMs: number): void {
    const timer: Interval = {
      callback: () => {
        this.#intervals.delete(timer)
        callback()
      },
      everyMs: afterMs,
      dueMs: this.nowMs + afterMs,
    }
    this.#intervals.add(timer)
  }

  /** The loop turns freely for `ms`: every interval fires when it is due. */
  run(ms: number): void {
    const until = this.nowMs + ms
    for (;;) {
      const next = [...this.#intervals].sort((a, b) => a.dueMs - b.dueMs)[0]
      if (next === undefined || next.dueMs > until) break
      this.nowMs = Math.max(this.nowMs, next.dueMs)
      this.#fire(next)
    }
    this.nowMs = Math.max(this.nowMs, until)
  }

  /** The loop can not turn for `ms`; whatever became due fires once, late. */
  stall(ms: number): void {
    this.nowMs += ms
    for (const interval of [...this.#intervals]) if (interval.dueMs <= this.nowMs) this.#fire(interval)
  }

  /** Until the next interval is due. */
  get nextMs(): number {
    return Math.max(0, Math.min(...[...this.#intervals].map(interval => interval.dueMs)) - this.nowMs)
  }

  restore(): void {
    for (const undo of this.#undo) undo()
  }

  #fire(interval: Interval): void {
    interval.dueMs = this.nowMs + interval.everyMs
    interval.callback()
  }
}
