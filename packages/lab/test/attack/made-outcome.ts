/** A made-up load run, for tests of its derived results. */
import { Histogram } from '../../src/load/histogram.ts'
import { planOf } from '../../src/load/load-request.ts'
import type { LoadOutcome, LoadPlan } from '../../src/load/plan.ts'

export const histogramOf = (values: readonly number[]): Histogram => {
  const histogram = new Histogram()
  for (const value of values) histogram.record(value)
  return histogram
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1)

interface Made extends Partial<LoadOutcome> {
  readonly okMs?: readonly number[]
}

/**
 * 100 requests: 80 answered with 200 (1..80 ms), 10 shed, 4 with status 500, 4 reset, 2 never sent; 75 within the SLO.
 */
export const madeOutcome = ({ okMs = upTo(80), ...given }: Made): LoadOutcome => ({
  scheduled: 100,
  sent: 98,
  unsent: 2,
  answered: { 200: okMs.length, 500: 4, 503: 10 },
  failed: { reset: 4 },
  good: 75,
  elapsedMs: 10_080,
  bytesRead: 123_456,
  bodyBytes: 100_000,
  bodyBytesSent: 0,
  targets: [],
  okLatency: histogramOf(okMs),
  shedLatency: histogramOf(upTo(10)),
  otherLatency: histogramOf(upTo(4)),
  failedAfter: histogramOf(upTo(4)),
  clean: {
    ok: histogramOf(okMs),
    shed: histogramOf(upTo(10)),
    other: histogramOf(upTo(4)),
    failed: histogramOf(upTo(4)),
  },
  sendLag: histogramOf(upTo(98).map(each => each / 1000)),
  seconds: [],
  cpuPerRequestUs: 7,
  certified: true,
  why: [],
  certificate: { code: 'certified', doubts: [], intervals: {} },
  acknowledged: [],
  incomplete: false,
  ...given,
})

export const madePlan = (given: Partial<LoadPlan>): LoadPlan => ({
  ...planOf({ url: 'http://127.0.0.1:3000/', rate: 10, durationMs: 10_000 }),
  ...given,
})
