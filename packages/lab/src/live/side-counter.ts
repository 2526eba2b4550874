/** Counts the results of one side's requests, and returns them ten times a second with a sample. Pure. */
import type { RequestEnd } from '../load/arrival-source.ts'
import { Histogram, type HistogramData } from '../load/histogram.ts'

/** `good`, `late`: 2xx or 3xx within or after the SLO; `refused`: 503; `lost`: other answers, failures, unsent. */
export type Fate = 'good' | 'late' | 'refused' | 'lost'

/** The latency counts from the request's due time to its end, ms. */
export type Dot = readonly [fate: Fate, latencyMs: number]

/** The counts of one side since the previous call. */
export interface SideCounts extends Readonly<Record<Fate, number>> {
  readonly due: number
  /** Latencies of 2xx and 3xx answers, as measured and without the generator's own delay. */
  readonly measured: HistogramData
  readonly clean: HistogramData
  /** A fair sample of the ended requests. */
  readonly dots: readonly Dot[]
}

/** Dots per tick. With ten ticks a second, a page that shows ten seconds has 1,000 dots. */
const MOST_DOTS = 10

const noCounts = () => ({
  due: 0,
  good: 0,
  late: 0,
  refused: 0,
  lost: 0,
  measured: new Histogram(),
  clean: new Histogram(),
  dots: [] as Dot[],
})

export class SideCounter {
  readonly #sloMs: number
  readonly #random: () => number
  #counts = noCounts()
  /** The number of ended requests from which the dots are chosen. */
  #seen = 0

  constructor(sloMs: number, random: () => number = Math.random) {
    this.#sloMs = sloMs
    this.#random = random
  }

  due(): void {
    this.#counts.due++
  }

  ended(latencyMs: number, end: RequestEnd, ownMs: number): void {
    const isAnswer = typeof end === 'number' && end >= 200 && end < 400
    const fate = isAnswer ? (latencyMs <= this.#sloMs ? 'good' : 'late') : end === 503 ? 'refused' : 'lost'
    this.#counts[fate]++
    if (isAnswer) {
      this.#counts.measured.record(latencyMs)
      this.#counts.clean.record(Math.max(0, latencyMs - ownMs))
    }
    this.#sample([fate, Math.round(latencyMs * 10) / 10])
  }

  /** Returns the counts and starts again from zero. */
  take(): SideCounts {
    const { measured, clean, ...counts } = this.#counts
    this.#counts = noCounts()
    this.#seen = 0
    return { ...counts, measured: measured.toJSON(), clean: clean.toJSON() }
  }

  /** Reservoir sampling: the n-th dot replaces another with probability `MOST_DOTS` / n, so all are equally likely. */
  #sample(dot: Dot): void {
    const { dots } = this.#counts
    this.#seen++
    const at = dots.length < MOST_DOTS ? dots.length : Math.floor(this.#random() * this.#seen)
    if (at < MOST_DOTS) dots[at] = dot
  }
}
