/**
 * What one worker counts. Pure: times come in as arguments. Holds the accounting of the contract: every request is
 * scheduled, then either sent or unsent; every sent one is answered or failed, exactly once.
 */
import { Histogram, type HistogramData } from './histogram.ts'
import type { Counts, FailureCode } from './plan.ts'

type Times = Record<string, number>

interface Second {
  scheduled: number
  sent: number
  readonly answered: Times
  readonly failed: Times
  good: number
  readonly okLatency: Histogram
  readonly shedLatency: Histogram
}

type Latencies = 'okLatency' | 'shedLatency'
export type SecondData = Readonly<Omit<Second, Latencies>> & Readonly<Record<Latencies, HistogramData>>

/** Latencies as measured, and as they would be without the generator's own delay. */
export interface Pair<H> {
  readonly measured: H
  readonly clean: H
}

export interface TallyData extends Counts {
  readonly unsent: number
  /** Answers late for the SLO that would have met it without the generator's own delay. */
  readonly goodLost: number
  readonly bytesRead: number
  readonly ok: Pair<HistogramData>
  readonly shed: Pair<HistogramData>
  readonly other: Pair<HistogramData>
  readonly sendLag: HistogramData
  /** Delay between due and sent of requests that found no free connection. */
  readonly connectionWait: HistogramData
  readonly seconds: readonly SecondData[]
  /** What lay behind failures whose code alone does not say it. */
  readonly reasons: Readonly<Times>
}

/** Most different reasons kept; a server may word every fault differently. */
const MOST_REASONS = 20

const count = (counts: Times, key: string | number, by = 1): void => {
  counts[key] = (counts[key] ?? 0) + by
}

const pair = (): Pair<Histogram> => ({ measured: new Histogram(), clean: new Histogram() })
const pairData = ({ measured, clean }: Pair<Histogram>): Pair<HistogramData> => ({
  measured: measured.toJSON(),
  clean: clean.toJSON(),
})

export class Tally {
  scheduledCount = 0
  sentCount = 0
  unsentCount = 0
  good = 0
  bytesRead = 0
  readonly answered: Times = {}
  readonly failed: Times = {}

  readonly #sloMs: number
  #goodLost = 0
  readonly #ok = pair()
  readonly #shed = pair()
  readonly #other = pair()
  readonly #sendLag = new Histogram()
  readonly #connectionWait = new Histogram()
  readonly #seconds: Second[] = []
  readonly #reasons: Times = {}

  constructor(sloMs: number) {
    this.#sloMs = sloMs
  }

  scheduled(due: number): void {
    this.scheduledCount++
    this.#second(due).scheduled++
  }

  unsent(): void {
    this.unsentCount++
  }

  /** `waited`: no connection was free when it was due. */
  sent(due: number, sentAt: number, waited: boolean): void {
    this.sentCount++
    this.#second(due).sent++
    this.#sendLag.record(sentAt - due)
    if (waited) this.#connectionWait.record(sentAt - due)
  }

  /** `ownMs`: how much of the latency was the generator's own doing, at most. */
  answer(due: number, status: number, latencyMs: number, ownMs: number): void {
    const second = this.#second(due)
    count(this.answered, status)
    count(second.answered, status)
    const cleanMs = Math.max(0, latencyMs - ownMs)
    if (status >= 200 && status < 400) {
      if (latencyMs <= this.#sloMs) {
        this.good++
        second.good++
      } else if (cleanMs <= this.#sloMs) {
        this.#goodLost++
      }
      second.okLatency.record(latencyMs)
      this.#ok.measured.record(latencyMs)
      this.#ok.clean.record(cleanMs)
    } else if (status === 503) {
      second.shedLatency.record(latencyMs)
      this.#shed.measured.record(latencyMs)
      this.#shed.clean.record(cleanMs)
    } else {
      this.#other.measured.record(latencyMs)
      this.#other.clean.record(cleanMs)
    }
  }

  fail(due: number, code: FailureCode, reason: string): void {
    count(this.failed, code)
    count(this.#second(due).failed, code)
    if (code !== 'other' && code !== 'malformed') return
    const key = `${code}: ${reason}`
    const known = key in this.#reasons || Object.keys(this.#reasons).length < MOST_REASONS
    count(this.#reasons, known ? key : `${code}: more kinds`)
  }

  data(): TallyData {
    return {
      scheduled: this.scheduledCount,
      sent: this.sentCount,
      unsent: this.unsentCount,
      answered: this.answered,
      failed: this.failed,
      good: this.good,
      goodLost: this.#goodLost,
      bytesRead: this.bytesRead,
      ok: pairData(this.#ok),
      shed: pairData(this.#shed),
      other: pairData(this.#other),
      sendLag: this.#sendLag.toJSON(),
      connectionWait: this.#connectionWait.toJSON(),
      seconds: this.#seconds.map(second => ({
        ...second,
        okLatency: second.okLatency.toJSON(),
        shedLatency: second.shedLatency.toJSON(),
      })),
      reasons: this.#reasons,
    }
  }

  #second(due: number): Second {
    const index = Math.floor(due / 1000)
    const known = this.#seconds[index]
    if (known !== undefined) return known
    while (this.#seconds.length <= index) {
      this.#seconds.push({
        scheduled: 0,
        sent: 0,
        answered: {},
        failed: {},
        good: 0,
        okLatency: new Histogram(),
        shedLatency: new Histogram(),
      })
    }
    return this.#seconds[index]!
  }
}
