/** The figures of a load run as stored in result.json. Pure. */
import { Histogram } from '../load/histogram.ts'
import type { LoadOutcome, LoadSecond } from '../load/plan.ts'

/** Milliseconds; null for a figure without samples. */
export type LatencyFigures = Readonly<
  Record<'min' | 'mean' | 'p50' | 'p90' | 'p95' | 'p99' | 'p999' | 'max', number | null>
>

type Same = 'elapsedMs' | 'scheduled' | 'sent' | 'unsent' | 'answered' | 'good' | 'bytesRead'

export interface LoadFigures extends Pick<LoadOutcome, Same> {
  /** Length of the schedule. */
  readonly durationMs: number
  readonly failed: Readonly<Record<string, number>>
  readonly ok: number
  /** Latency of 2xx and 3xx answers, ms. */
  readonly okMs: LatencyFigures
  /** Latency of all answers, of any status, ms. */
  readonly allMs: LatencyFigures
  /** By the second in which requests were scheduled. */
  readonly seconds: readonly SecondFigures[]
}

export interface SecondFigures extends Pick<LoadSecond, 'second' | 'scheduled' | 'good'> {
  readonly ok: number
  readonly p99Ms: number | null
}

const figure = (value: number): number | null => (Number.isNaN(value) ? null : Math.round(value * 1000) / 1000)

export function latencyFigures(histogram: Histogram): LatencyFigures {
  return {
    min: figure(histogram.min),
    mean: figure(histogram.mean),
    p50: figure(histogram.percentile(50)),
    p90: figure(histogram.percentile(90)),
    p95: figure(histogram.percentile(95)),
    p99: figure(histogram.percentile(99)),
    p999: figure(histogram.percentile(99.9)),
    max: figure(histogram.max),
  }
}

export function loadFigures(outcome: LoadOutcome, durationMs: number): LoadFigures {
  const { okLatency, shedLatency, otherLatency } = outcome
  return {
    durationMs,
    elapsedMs: Math.round(outcome.elapsedMs),
    scheduled: outcome.scheduled,
    sent: outcome.sent,
    unsent: outcome.unsent,
    answered: outcome.answered,
    failed: outcome.failed as Record<string, number>,
    ok: okLatency.count,
    good: outcome.good,
    okMs: latencyFigures(okLatency),
    allMs: latencyFigures(Histogram.merged([okLatency, shedLatency, otherLatency])),
    bytesRead: outcome.bytesRead,
    seconds: outcome.seconds.map(secondFigures),
  }
}

function secondFigures({ second, scheduled, okLatency, good }: LoadSecond): SecondFigures {
  return { second, scheduled, ok: okLatency.count, good, p99Ms: figure(okLatency.percentile(99)) }
}

/** Rates per second of requests scheduled from second `from` to before second `to`. */
export function perSecond(
  { seconds }: LoadFigures,
  of: 'ok' | 'scheduled',
  { from, to }: { readonly from: number; readonly to: number },
): number {
  const inside = seconds.filter(each => each.second >= from && each.second < to)
  return inside.reduce((sum, each) => sum + each[of], 0) / Math.max(1, to - from)
}
