/** Series and families of samples, as Prometheus defines them, for any text format. */
import type { IncomingMessage } from 'node:http'
import { wallClockMs } from '../clock.ts'
import { bucketOf } from '../record.ts'
import { traceOf } from '../timing/traceparent.ts'

/** Keys are Prometheus label names. */
export type SampleLabels = Readonly<Record<string, string>>

export interface Exemplar {
  readonly traceId: string
  readonly value: number
  /** When the value was measured, seconds since 1970. */
  readonly atS: number
}

export interface Sample {
  /** The suffix of the family's name: ``, `_bucket`, `_sum`, `_count`. */
  readonly suffix: string
  readonly labels: SampleLabels
  readonly value: number
  /** Set only for buckets. */
  readonly exemplar?: Exemplar | undefined
}

export type Aggregator = 'sum' | 'min' | 'max' | 'average'

/** A metric with all its series, in Prometheus' terms. */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** How the values of a cluster's workers are combined, in prom-client's terms. */
  readonly aggregator: Aggregator
  samples(): Sample[]
}

/** A bucket replaces its exemplar after this time, ms: Prometheus scrapes every few seconds. */
const EVERY_MS = 1000
/** After a request without a sampled trace the bucket checks no other request for this time, ms. */
const ASK_EVERY_MS = 10

/** A counter, or a histogram if there are boundaries. */
export class SampledSeries {
  readonly #labels: SampleLabels
  readonly #boundaries: readonly number[] | undefined
  /** Counts by bucket, not cumulative; there is one more bucket than boundaries. */
  readonly #counts: Float64Array
  readonly #exemplars: Exemplars | undefined
  #sum = 0

  constructor(labels: SampleLabels, boundaries?: readonly number[], hasExemplars: boolean = false) {
    this.#labels = labels
    this.#boundaries = boundaries
    this.#counts = new Float64Array((boundaries?.length ?? -1) + 1)
    this.#exemplars = hasExemplars ? new Exemplars(this.#counts.length) : undefined
  }

  add(value: number, times: number, nowMs?: number, request?: Pick<IncomingMessage, 'headers'>): void {
    this.#sum += value * times
    const boundaries = this.#boundaries
    if (boundaries === undefined) return
    const bucket = bucketOf(value, boundaries)
    this.#counts[bucket]! += times
    if (request !== undefined) this.#exemplars?.offer(bucket, value, nowMs!, request)
  }

  samples(): Sample[] {
    const labels = this.#labels
    const boundaries = this.#boundaries
    if (boundaries === undefined) return [{ suffix: '', labels, value: this.#sum }]
    let count = 0
    const buckets = Array.from(this.#counts, (counted, i) => {
      count += counted
      const le = String(boundaries[i] ?? '+Inf')
      return { suffix: '_bucket', labels: { ...labels, le }, value: count, exemplar: this.#exemplars?.byBucket[i] }
    })
    return [...buckets, { suffix: '_sum', labels, value: this.#sum }, { suffix: '_count', labels, value: count }]
  }
}

/**
 * Keeps the trace id of one request for each bucket of a histogram. Few requests are checked for a trace, so a service
 * without tracing pays almost nothing.
 */
export class Exemplars {
  readonly byBucket: (Exemplar | undefined)[]
  readonly #askAtMs: Float64Array

  constructor(buckets: number) {
    this.byBucket = Array.from({ length: buckets }, () => undefined)
    this.#askAtMs = new Float64Array(buckets)
  }

  offer(bucket: number, value: number, nowMs: number, request: Pick<IncomingMessage, 'headers'>): void {
    if (nowMs < this.#askAtMs[bucket]!) return
    const trace = traceOf(request.headers['traceparent'])
    const sampled = trace?.sampled === true
    this.#askAtMs[bucket] = nowMs + (sampled ? EVERY_MS : ASK_EVERY_MS)
    if (sampled) this.byBucket[bucket] = { traceId: trace.id, value, atS: wallClockMs() / 1000 }
  }
}
