/**
 * The exemplars of a histogram: for each bucket one request, by its trace. So few requests are asked for their trace that
 * a service without tracing does not pay for it.
 */
import { wallClockMs } from '../clock.ts'
import { traceOf } from '../timing/traceparent.ts'

export interface Exemplar {
  readonly traceId: string
  readonly value: number
  /** When it was measured, seconds since 1970. */
  readonly atS: number
}

/** What is known of a request that may have been traced. */
export interface MaybeTraced {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** A bucket takes another exemplar after this, ms: Prometheus scrapes every few seconds. */
const EVERY_MS = 1000
/** After a request without a trace that was sampled the bucket asks no other for this long, ms. */
const ASK_EVERY_MS = 10

export class Exemplars {
  readonly #each: (Exemplar | undefined)[]
  readonly #askAtMs: Float64Array

  constructor(buckets: number) {
    this.#each = Array.from({ length: buckets }, () => undefined)
    this.#askAtMs = new Float64Array(buckets)
  }

  of(bucket: number): Exemplar | undefined {
    return this.#each[bucket]
  }

  /** @param nowMs monotonic */
  offer(bucket: number, value: number, nowMs: number, request: MaybeTraced): void {
    if (nowMs < this.#askAtMs[bucket]!) return
    const trace = traceOf(request.headers['traceparent'])
    const sampled = trace?.sampled === true
    this.#askAtMs[bucket] = nowMs + (sampled ? EVERY_MS : ASK_EVERY_MS)
    if (sampled) this.#each[bucket] = { traceId: trace.id, value, atS: wallClockMs() / 1000 }
  }
}
