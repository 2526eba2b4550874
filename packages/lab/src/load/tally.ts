/** The counts of one worker. Every request is sent or unsent; every sent one answered or failed, exactly once. Pure. */
import { byKind } from './added.ts'
import { Histogram, type HistogramData } from './histogram.ts'
import type { ByKind, Counts, FailureCode, LoadOutcome } from './plan.ts'
import { emptySecond, noCounts, type Second, type SecondData, Seconds, type Times } from './seconds.ts'

export const isOk = (status: number): boolean => status >= 200 && status < 400

/** Latencies as measured, and without the generator's own delay. */
export interface Pair<H> {
  readonly measured: H
  readonly clean: H
}

export interface TallyData
  extends Pick<LoadOutcome, keyof Counts | 'unsent' | 'bytesRead' | 'bodyBytes' | 'bodyBytesSent'> {
  /** Late answers that would have met the SLO without the generator's own delay. */
  readonly goodLost: number
  readonly targets: readonly Omit<SecondData, 'shedLatency'>[]
  readonly latencies: ByKind<Pair<HistogramData>>
  readonly sendLag: HistogramData
  /** Delay from due to sent, for requests that waited because of the cap on connections. */
  readonly connectionWait: HistogramData
  readonly seconds: readonly SecondData[]
  /** Details of failures whose code alone is not enough. */
  readonly reasons: Readonly<Times>
}

/** Separate figures for more targets would be too many to read. */
const MOST_TARGETS = 20

/** Maximum number of different reasons, because a server may word every error differently. */
const MOST_REASONS = 20

const count = (counts: Times, key: string | number): void => {
  counts[key] = (counts[key] ?? 0) + 1
}

const pair = (): Pair<Histogram> => ({ measured: new Histogram(), clean: new Histogram() })
const record = ({ measured, clean }: Pair<Histogram>, measuredMs: number, cleanMs: number): void => {
  measured.record(measuredMs)
  clean.record(cleanMs)
}
const pairData = ({ measured, clean }: Pair<Histogram>): Pair<HistogramData> => ({
  measured: measured.toJSON(),
  clean: clean.toJSON(),
})

export class Tally {
  readonly all: ReturnType<typeof noCounts> = noCounts()
  unsent = 0
  bytesRead = 0
  bodyBytes = 0
  bodyBytesSent = 0

  readonly #sloMs: number
  #goodLost = 0
  readonly #latencies = byKind(pair)
  readonly #sendLag = new Histogram()
  readonly #connectionWait = new Histogram()
  readonly #seconds: Seconds
  readonly #reasons: Times = {}
  readonly #targets: readonly Second[]

  /** A request without an answer or a failure fails after `timeoutMs`. */
  constructor(sloMs: number, timeoutMs: number, targets: number) {
    this.#sloMs = sloMs
    const told = targets > 1 && targets <= MOST_TARGETS ? targets : 0
    this.#targets = Array.from({ length: told }, emptySecond)
    this.#seconds = new Seconds(timeoutMs + 1000)
  }

  scheduled(due: number, target: number): void {
    this.all.scheduled++
    this.#seconds.at(due).scheduled++
    const of = this.#targets[target]
    if (of !== undefined) of.scheduled++
  }

  /** `waited`: the request waited because of the cap on connections. */
  sent(due: number, target: number, sentAt: number, waited: boolean): void {
    this.all.sent++
    this.#seconds.at(due).sent++
    const of = this.#targets[target]
    if (of !== undefined) of.sent++
    this.#sendLag.record(sentAt - due)
    if (waited) this.#connectionWait.record(sentAt - due)
  }

  /** `ownMs`: the maximum part of the latency that the generator caused. */
  answer(due: number, target: number, status: number, latencyMs: number, ownMs: number): void {
    const second = this.#seconds.at(due)
    const of = this.#targets[target]
    count(this.all.answered, status)
    count(second.answered, status)
    if (of !== undefined) count(of.answered, status)
    const cleanMs = Math.max(0, latencyMs - ownMs)
    if (isOk(status)) {
      if (latencyMs <= this.#sloMs) {
        this.all.good++
        second.good++
        if (of !== undefined) of.good++
      } else if (cleanMs <= this.#sloMs) {
        this.#goodLost++
      }
      second.okLatency.record(latencyMs)
      of?.okLatency.record(latencyMs)
      record(this.#latencies.ok, latencyMs, cleanMs)
    } else if (status === 503) {
      second.shedLatency.record(latencyMs)
      record(this.#latencies.shed, latencyMs, cleanMs)
    } else {
      record(this.#latencies.other, latencyMs, cleanMs)
    }
  }

  /** The request failed `waitedMs` after it was due; the generator caused at most `ownMs` of that. */
  fail(due: number, target: number, code: FailureCode, reason: string, waitedMs: number, ownMs: number): void {
    count(this.all.failed, code)
    count(this.#seconds.at(due).failed, code)
    const of = this.#targets[target]
    if (of !== undefined) count(of.failed, code)
    if (code !== 'aborted') record(this.#latencies.failed, waitedMs, Math.max(0, waitedMs - ownMs))
    if (code !== 'other' && code !== 'malformed') return
    const key = `${code}: ${reason}`
    const known = key in this.#reasons || Object.keys(this.#reasons).length < MOST_REASONS
    count(this.#reasons, known ? key : `${code}: more kinds`)
  }

  data(): TallyData {
    return {
      ...this.all,
      unsent: this.unsent,
      goodLost: this.#goodLost,
      bytesRead: this.bytesRead,
      bodyBytes: this.bodyBytes,
      bodyBytesSent: this.bodyBytesSent,
      targets: this.#targets.map(({ okLatency, shedLatency: _, ...counts }) => ({
        ...counts,
        okLatency: okLatency.toJSON(),
      })),
      latencies: byKind(kind => pairData(this.#latencies[kind])),
      sendLag: this.#sendLag.toJSON(),
      connectionWait: this.#connectionWait.toJSON(),
      seconds: this.#seconds.data(),
      reasons: this.#reasons,
    }
  }
}
