/** Stores the named stalls: total seconds by place, the last stalls, and when each place was last printed. Pure. */
import type { NamedStall } from '../signals/named-stalls.ts'

/** Maximum number of places, because each becomes a label value. */
const MOST_PLACES = 50
const MOST_KEPT = 100
/** A place is printed at most once in this time, ms. */
const SAID_AGAIN_MS = 60_000

export class NamedStalls {
  readonly #seconds = new Map<string, number>()
  readonly #saidAtMs = new Map<string, number>()
  readonly #last: NamedStall[] = []

  add(stall: NamedStall): void {
    const { place, fromMs, toMs } = stall
    const label = this.#seconds.has(place) || this.#seconds.size < MOST_PLACES ? place : 'other'
    this.#seconds.set(label, (this.#seconds.get(label) ?? 0) + (toMs - fromMs) / 1000)
    if (this.#last.push(stall) > MOST_KEPT) this.#last.shift()
  }

  seconds(): Record<string, number> {
    return Object.fromEntries(this.#seconds)
  }

  between(fromMs: number, toMs: number): NamedStall[] {
    return this.#last.filter(stall => stall.toMs > fromMs && stall.fromMs < toMs)
  }

  /** True for the first stall at a place within a minute, for up to MOST_PLACES places. */
  isToBeSaid(place: string, nowMs: number): boolean {
    for (const [said, atMs] of this.#saidAtMs) if (nowMs - atMs >= SAID_AGAIN_MS) this.#saidAtMs.delete(said)
    if (this.#saidAtMs.has(place) || this.#saidAtMs.size >= MOST_PLACES) return false
    this.#saidAtMs.set(place, nowMs)
    return true
  }

  explain(nowMs: number): string {
    const last = this.#last.at(-1)
    if (last === undefined) return 'The event loop has not stalled.'
    return `The last stall of the event loop, ${((nowMs - last.toMs) / 1000).toFixed(1)} s ago: ${stallText(last)}.`
  }
}

/** A text such as `812 ms for GET /invoices (trace 0af7651916cd43dd...): renderInvoice, src/invoice.js:88`. */
export function stallText({ fromMs, toMs, place, route, traceId, requestId }: NamedStall): string {
  const id = traceId === undefined ? requestId && ` (request ${requestId})` : ` (trace ${traceId})`
  return `${Math.round(toMs - fromMs)} ms${route === undefined ? '' : ` for ${route}${id ?? ''}`}: ${place}`
}
