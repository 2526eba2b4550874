/** The compared figures of two runs. Pure. */
import type { Histogram } from '../load/histogram.ts'
import type { LoadOutcome } from '../load/plan.ts'
import { loadSeconds } from '../load/schedule.ts'
import { type AttackDocument, outcomeOf } from '../results/attack-document.ts'

export type FigureName = 'goodput' | 'p50' | 'p90' | 'p99' | 'errors'

export interface FigureKind {
  readonly name: FigureName
  /** The unit of its values: per second, milliseconds, or a share (0..1) of the requests. */
  readonly unit: 'rate' | 'ms' | 'share'
  readonly better: 'more' | 'less'
}

/** No answer takes less time. */
const LEAST_MS = 0.001

/** Latencies are those of 2xx and 3xx answers. Errors are scheduled requests without such an answer. */
export const FIGURES: readonly FigureKind[] = [
  { name: 'goodput', unit: 'rate', better: 'more' },
  { name: 'p50', unit: 'ms', better: 'less' },
  { name: 'p90', unit: 'ms', better: 'less' },
  { name: 'p99', unit: 'ms', better: 'less' },
  { name: 'errors', unit: 'share', better: 'less' },
]

/** Null for a figure that a result does not contain, or that has no samples. */
export type RunFigures = Readonly<Record<FigureName, number | null>>

/** The figures of a run as measured, and without the generator's own delay; the server's own lie between the two. */
export type ReadRun = Readonly<Record<'measured' | 'clean', RunFigures>>

export function readRun(document: AttackDocument): ReadRun {
  const outcome = outcomeOf(document)
  const { okLatency, clean, scheduled, good, unsent } = outcome
  const perSecond = good / loadSeconds(document.plan, outcome)
  const errors = scheduled === 0 ? null : (scheduled - okLatency.count) / scheduled
  return {
    measured: { goodput: perSecond, ...percentiles(okLatency), errors },
    clean: {
      goodput: perSecond * spedUp(document, outcome),
      ...percentiles(clean.ok),
      // A request that was never sent might have succeeded.
      errors: errors === null ? null : Math.max(0, errors - unsent / scheduled),
    },
  }
}

function percentiles(latency: Histogram): Pick<RunFigures, 'p50' | 'p90' | 'p99'> {
  const at = (percent: number): number | null => (latency.count === 0 ? null : latency.smoothPercentile(percent))
  return { p50: at(50), p90: at(90), p99: at(99) }
}

/** The maximum factor by which goodput would be higher without the generator's delay. */
function spedUp({ plan }: AttackDocument, { okLatency, clean, good, unsent }: LoadOutcome): number {
  const { arrival, sloMs } = plan
  if (good === 0) return 1
  if (arrival.kind === 'open') {
    const inTime = clean.ok.count === 0 ? 0 : clean.ok.shareWithin(sloMs) * clean.ok.count
    return (Math.max(good, inTime) + unsent) / good
  }
  // A user sends the next request once the answer was read and the pause is over.
  const cycleMs = (latency: Histogram): number => Math.max(LEAST_MS, latency.mean + arrival.thinkMs)
  return cycleMs(okLatency) / cycleMs(clean.ok)
}
