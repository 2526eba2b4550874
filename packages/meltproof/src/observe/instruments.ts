/** Counters, gauges and histograms that are read as families of samples. Pure; knows no format. */

export type Labels = Readonly<Record<string, string>>

const NONE: Labels = {}

export interface Sample {
  /** What the family's name is followed by: ``, `_bucket`, `_sum`, `_count`. */
  readonly suffix: string
  readonly labels: Labels
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  samples(): Sample[]
}

/** Grows; one number for each set of label values. The caller bounds those (labels.ts). */
export class Counter implements Family {
  readonly type = 'counter'
  readonly name: string
  readonly help: string
  readonly #series = new Map<string, { readonly labels: Labels; value: number }>()

  constructor(name: string, help: string) {
    this.name = name
    this.help = help
  }

  add(value: number, labels: Labels = NONE): void {
    this.series(labels).value += value
  }

  /** The series of these labels, for whoever adds often and keeps it. */
  series(labels: Labels): { readonly labels: Labels; value: number } {
    const key = keyOf(labels)
    let series = this.#series.get(key)
    if (series === undefined) {
      series = { labels, value: 0 }
      this.#series.set(key, series)
    }
    return series
  }

  samples(): Sample[] {
    return [...this.#series.values()].map(({ labels, value }) => ({ suffix: '', labels, value }))
  }
}

/** Reads its values when asked. */
export class Reading implements Family {
  readonly type: 'counter' | 'gauge'
  readonly name: string
  readonly help: string
  readonly #read: () => readonly (readonly [labels: Labels, value: number])[]

  constructor(
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    read: () => readonly (readonly [labels: Labels, value: number])[],
  ) {
    this.type = type
    this.name = name
    this.help = help
    this.#read = read
  }

  samples(): Sample[] {
    return this.#read().map(([labels, value]) => ({ suffix: '', labels, value }))
  }
}

/** Boundaries that OpenTelemetry's HTTP conventions prescribe for durations, seconds. */
export const DURATION_BOUNDARIES_S: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
]

export class HistogramSeries {
  readonly labels: Labels
  /** Not cumulative; one more than boundaries. */
  readonly counts: Float64Array
  sum: number = 0
  readonly #boundaries: readonly number[]

  constructor(labels: Labels, boundaries: readonly number[]) {
    this.labels = labels
    this.#boundaries = boundaries
    this.counts = new Float64Array(boundaries.length + 1)
  }

  observe(value: number): void {
    let bucket = 0
    while (bucket < this.#boundaries.length && value > this.#boundaries[bucket]!) bucket++
    this.counts[bucket]! += 1
    this.sum += value
  }
}

export class Histogram implements Family {
  readonly type = 'histogram'
  readonly name: string
  readonly help: string
  readonly #boundaries: readonly number[]
  readonly #series = new Map<string, HistogramSeries>()

  constructor(name: string, help: string, boundaries: readonly number[] = DURATION_BOUNDARIES_S) {
    this.name = name
    this.help = help
    this.#boundaries = boundaries
  }

  observe(value: number, labels: Labels): void {
    this.series(labels).observe(value)
  }

  /** The series of these labels, for whoever observes often and keeps it. */
  series(labels: Labels): HistogramSeries {
    const key = keyOf(labels)
    let series = this.#series.get(key)
    if (series === undefined) {
      series = new HistogramSeries(labels, this.#boundaries)
      this.#series.set(key, series)
    }
    return series
  }

  samples(): Sample[] {
    const samples: Sample[] = []
    for (const { labels, counts, sum } of this.#series.values()) {
      let cumulative = 0
      for (let i = 0; i < counts.length; i++) {
        cumulative += counts[i]!
        const le = i < this.#boundaries.length ? String(this.#boundaries[i]) : '+Inf'
        samples.push({ suffix: '_bucket', labels: { ...labels, le }, value: cumulative })
      }
      samples.push({ suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: cumulative })
    }
    return samples
  }
}

/** Labels of one family always come in the same order, so their values tell series apart. */
function keyOf(labels: Labels): string {
  let key = ''
  for (const name in labels) key += `${labels[name]}\0`
  return key
}
