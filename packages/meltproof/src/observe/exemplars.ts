/**
 * The exemplars of a histogram: one request for each bucket, by its trace id. Few requests are checked for a trace, so
 * a service without tracing pays almost nothing.
 */
import type { IncomingMessage } from 'node:http'
import { wallClockMs } from '../clock.ts'
import { traceOf } from '../timing/traceparent.ts'

export interface Exemplar {
  readonly traceId: string
  readonly value: number
  /** When the value was measured, seconds since 1970. */
  readonly atS: number
}

/** A bucket replaces its exemplar after this time, ms: Prometheus scrapes every few seconds. */
const EVERY_MS = 1000
/** After a request without a sampled trace the bucket checks no other request for this time, ms. */
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

  /** @param nowMs monotonic time */
  offer(bucket: number, value: number, nowMs: number, request: Pick<IncomingMessage, 'headers'>): void {
    if (nowMs < this.#askAtMs[bucket]!) return
    const trace = traceOf(request.headers['traceparent'])
    const sampled = trace?.sampled === true
    this.#askAtMs[bucket] = nowMs + (sampled ? EVERY_MS : ASK_EVERY_MS)
    if (sampled) this.#each[bucket] = { traceId: trace.id, value, atS: wallClockMs() / 1000 }
  }
}
