/** What of two runs is compared. Pure. */
import type { Histogram } from '../load/histogram.ts'
import type { LoadOutcome } from '../load/plan.ts'
import { loadSeconds } from '../load/schedule.ts'
import { type AttackDocument, outcomeOf } from '../results/attack-document.ts'

export type FigureName = 'goodput' | 'p50' | 'p90' | 'p99' | 'errors'

export interface FigureKind {
  readonly name: FigureName
  /** In which its values are: a second, milliseconds, or a share (0..1) of the requests. */
  readonly unit: 'rate' | 'ms' | 'share'
  readonly better: 'more' | 'less'
}

/** No answer takes less. */
const LEAST_MS = 0.001

/** Latencies are those of answers 2xx and 3xx; errors are requests that were due and got no such answer. */
export const FIGURES: readonly FigureKind[] = [
  { name: 'goodput', unit: 'rate', better: 'more' },
  { name: 'p50', unit: 'ms', better: 'less' },
  { name: 'p90', unit: 'ms', better: 'less' },
  { name: 'p99', unit: 'ms', better: 'less' },
  { name: 'errors', unit: 'share', better: 'less' },
]

/** Null for a figure that a result does not say, or that rests on nothing. */
export type RunFigures = Readonly<Record<FigureName, number | null>>

/** A run in figures, as measured and without the generator's own delay, at most: the server's own lies between. */
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
      // What was never sent might have been answered.
      errors: errors === null ? null : Math.max(0, errors - unsent / scheduled),
    },
  }
}

function percentiles(latency: Histogram): Pick<RunFigures, 'p50' | 'p90' | 'p99'> {
  const at = (percent: number): number | null => (latency.count === 0 ? null : latency.smoothPercentile(percent))
  return { p50: at(50), p90: at(90), p99: at(99) }
}

/** How many times as much goodput there would have been without the generator's delay, at most. */
function spedUp({ plan }: AttackDocument, { okLatency, clean, good, unsent }: LoadOutcome): number {
  const { arrival, sloMs } = plan
  if (good === 0) return 1
  if (arrival.kind === 'open') {
    const inTime = clean.ok.count === 0 ? 0 : clean.ok.shareWithin(sloMs) * clean.ok.count
    return (Math.max(good, inTime) + unsent) / good
  }
  // A user asks again when the answer was read and the pause is over.
  const cycleMs = (latency: Histogram): number => Math.max(LEAST_MS, latency.mean + arrival.thinkMs)
  return cycleMs(okLatency) / cycleMs(clean.ok)
}
