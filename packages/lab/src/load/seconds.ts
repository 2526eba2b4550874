/** Results by the second in which requests were due. Settled seconds are packed, for hours of load. Pure. */
import { Histogram, type HistogramData } from './histogram.ts'

export type Times = Record<string, number>

/** `Counts` of plan.ts, writable. */
interface Counters {
  scheduled: number
  sent: number
  readonly answered: Times
  readonly failed: Times
  good: number
}

export interface Second extends Counters {
  readonly okLatency: Histogram
  readonly shedLatency: Histogram
}

type Latencies = 'okLatency' | 'shedLatency'
export type SecondData = Readonly<Omit<Second, Latencies>> & Readonly<Record<Latencies, HistogramData>>

export class Seconds {
  /** A packed second is JSON, which is small because counters that are zero are absent. */
  readonly #all: (Second | string)[] = []
  readonly #settledMs: number
  /** Seconds before this index have been packed. */
  #packed = 0

  /** `settledMs`: after this time since it was due, the result of a request is final. */
  constructor(settledMs: number) {
    this.#settledMs = settledMs
  }

  at(due: number): Second {
    const index = Math.floor(due / 1000)
    const known = this.#all[index]
    if (known === undefined) return this.#begin(index, due)
    return typeof known === 'string' ? this.#reopen(index, known) : known
  }

  data(): SecondData[] {
    return this.#all.map(
      second => JSON.parse(typeof second === 'string' ? second : JSON.stringify(second)) as SecondData,
    )
  }

  #begin(index: number, due: number): Second {
    while (this.#all.length <= index) this.#all.push(emptySecond())
    const settled = Math.min(index, Math.floor((due - this.#settledMs) / 1000))
    for (; this.#packed < settled; this.#packed++) {
      const second = this.#all[this.#packed]!
      if (typeof second !== 'string') this.#all[this.#packed] = JSON.stringify(second)
    }
    return this.#all[index] as Second
  }

  /** A generator that was frozen may get a result after its second was packed. */
  #reopen(index: number, packed: string): Second {
    const { okLatency, shedLatency, ...counts } = JSON.parse(packed) as SecondData
    const second = {
      ...counts,
      okLatency: Histogram.fromJSON(okLatency),
      shedLatency: Histogram.fromJSON(shedLatency),
    }
    this.#all[index] = second
    return second
  }
}

export const noCounts = (): Counters => ({ scheduled: 0, sent: 0, answered: {}, failed: {}, good: 0 })

export const emptySecond = (): Second => ({
  ...noCounts(),
  okLatency: new Histogram(),
  shedLatency: new Histogram(),
})
