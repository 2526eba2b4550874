/** Counters, gauges and histograms as families of samples, which Prometheus wants. Pure; knows no format. */

/** By the names of Prometheus. */
export type SampleLabels = Readonly<Record<string, string>>

export interface Sample {
  /** What the family's name is followed by: ``, `_bucket`, `_sum`, `_count`. */
  readonly suffix: string
  readonly labels: SampleLabels
  readonly value: number
}

/** What Prometheus calls a metric with all its series. */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  samples(): Sample[]
}

/** Boundaries that OpenTelemetry's HTTP conventions prescribe for durations, seconds. */
export const DURATION_BOUNDARIES_S: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
]

export class CounterSeries {
  readonly labels: SampleLabels
  #value = 0

  constructor(labels: SampleLabels) {
    this.labels = labels
  }

  add(value: number): void {
    this.#value += value
  }

  samples(): Sample[] {
    return [{ suffix: '', labels: this.labels, value: this.#value }]
  }
}

export class HistogramSeries {
  readonly labels: SampleLabels
  readonly #boundaries: readonly number[]
  /** Not cumulative; one more than boundaries. */
  readonly #counts: Float64Array
  #sum = 0

  constructor(labels: SampleLabels, boundaries: readonly number[] = DURATION_BOUNDARIES_S) {
    this.labels = labels
    this.#boundaries = boundaries
    this.#counts = new Float64Array(boundaries.length + 1)
  }

  add(value: number): void {
    let bucket = 0
    while (bucket < this.#boundaries.length && value > this.#boundaries[bucket]!) bucket++
    this.#counts[bucket]! += 1
    this.#sum += value
  }

  samples(): Sample[] {
    const { labels } = this
    let count = 0
    const buckets = Array.from(this.#counts, (counted, i) => {
      count += counted
      return { suffix: '_bucket', labels: { ...labels, le: String(this.#boundaries[i] ?? '+Inf') }, value: count }
    })
    return [...buckets, { suffix: '_sum', labels, value: this.#sum }, { suffix: '_count', labels, value: count }]
  }
}
