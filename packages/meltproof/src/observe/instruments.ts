/** Series and families of samples, which Prometheus wants. Pure; knows no format. */

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

/** A counter, or with boundaries a histogram. */
export class SampledSeries {
  readonly #labels: SampleLabels
  readonly #boundaries: readonly number[] | undefined
  /** Not cumulative; one more than boundaries. */
  readonly #counts: Float64Array
  #sum = 0

  constructor(labels: SampleLabels, boundaries?: readonly number[]) {
    this.#labels = labels
    this.#boundaries = boundaries
    this.#counts = new Float64Array((boundaries?.length ?? -1) + 1)
  }

  add(value: number): void {
    this.#sum += value
    const boundaries = this.#boundaries
    if (boundaries === undefined) return
    let bucket = 0
    while (bucket < boundaries.length && value > boundaries[bucket]!) bucket++
    this.#counts[bucket]! += 1
  }

  samples(): Sample[] {
    const labels = this.#labels
    const boundaries = this.#boundaries
    if (boundaries === undefined) return [{ suffix: '', labels, value: this.#sum }]
    let count = 0
    const buckets = Array.from(this.#counts, (counted, i) => {
      count += counted
      return { suffix: '_bucket', labels: { ...labels, le: String(boundaries[i] ?? '+Inf') }, value: count }
    })
    return [...buckets, { suffix: '_sum', labels, value: this.#sum }, { suffix: '_count', labels, value: count }]
  }
}
