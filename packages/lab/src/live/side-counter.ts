/** Counts what comes of the requests of one side, and hands it over ten times a second with a sample of them. Pure. */
import type { RequestEnd } from '../load/arrival-source.ts'
import { Histogram, type HistogramData } from '../load/histogram.ts'
import type { Watcher } from './steered-arrivals.ts'

/** 2xx or 3xx within the SLO, later than that, a 503, and everything else: other answers, failures, never sent. */
export type Fate = 'good' | 'late' | 'refused' | 'lost'

/** Milliseconds from due to ended. */
export type Dot = readonly [fate: Fate, latencyMs: number]

/** Of one side since the counts before. */
export interface SideCounts extends Readonly<Record<Fate, number>> {
  readonly due: number
  /** Of answers 2xx and 3xx, as measured and without the generator's own delay. */
  readonly measured: HistogramData
  readonly clean: HistogramData
  /** A fair sample of those that ended. */
  readonly dots: readonly Dot[]
}

/** At ten a second a page that shows ten seconds draws 1,000 of them. */
const MOST_DOTS = 10

export class SideCounter implements Watcher {
  readonly #sloMs: number
  readonly #random: () => number
  #due = 0
  #ends: Record<Fate, number> = noEnds()
  #measured = new Histogram()
  #clean = new Histogram()
  #dots: Dot[] = []
  #seen = 0

  constructor(sloMs: number, random: () => number = Math.random) {
    this.#sloMs = sloMs
    this.#random = random
  }

  due(): void {
    this.#due++
  }

  ended(latencyMs: number, end: RequestEnd, ownMs: number): void {
    const isAnswer = typeof end === 'number' && end >= 200 && end < 400
    const fate = isAnswer ? (latencyMs <= this.#sloMs ? 'good' : 'late') : end === 503 ? 'refused' : 'lost'
    this.#ends[fate]++
    if (isAnswer) {
      this.#measured.record(latencyMs)
      this.#clean.record(Math.max(0, latencyMs - ownMs))
    }
    this.#sample([fate, Math.round(latencyMs * 10) / 10])
  }

  /** Begins anew. */
  take(): SideCounts {
    const taken = {
      due: this.#due,
      ...this.#ends,
      measured: this.#measured.toJSON(),
      clean: this.#clean.toJSON(),
      dots: this.#dots,
    }
    this.#due = 0
    this.#ends = noEnds()
    this.#measured = new Histogram()
    this.#clean = new Histogram()
    this.#dots = []
    this.#seen = 0
    return taken
  }

  /** The n-th takes the place of another with a chance of `MOST_DOTS` in n, so each is as likely to be kept. */
  #sample(dot: Dot): void {
    this.#seen++
    if (this.#dots.length < MOST_DOTS) {
      this.#dots.push(dot)
      return
    }
    const at = Math.floor(this.#random() * this.#seen)
    if (at < MOST_DOTS) this.#dots[at] = dot
  }
}

const noEnds = (): Record<Fate, number> => ({ good: 0, late: 0, refused: 0, lost: 0 })
