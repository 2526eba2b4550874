/** Series and families of samples, as Prometheus defines them, for any text format. */
import type { IncomingMessage } from 'node:http'
import { bucketOf } from '../record.ts'
import { type Exemplar, Exemplars } from './exemplars.ts'

/** Keys are Prometheus label names. */
export type SampleLabels = Readonly<Record<string, string>>

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

/** A counter, or a histogram if there are boundaries. */
export class SampledSeries {
  readonly #labels: SampleLabels
  readonly #boundaries: readonly number[] | undefined
  /** Not cumulative; one more entry than boundaries. */
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
      return { suffix: '_bucket', labels: { ...labels, le }, value: count, exemplar: this.#exemplars?.of(i) }
    })
    return [...buckets, { suffix: '_sum', labels, value: this.#sum }, { suffix: '_count', labels, value: count }]
  }
}
