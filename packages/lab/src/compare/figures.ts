/** What of two runs is compared. Pure. */
import { planMs } from '../load/schedule.ts'
import { type AttackDocument, outcomeOf } from '../results/attack-document.ts'

export type FigureName = 'goodput' | 'p50' | 'p90' | 'p99' | 'errors'

export interface FigureKind {
  readonly name: FigureName
  /** In which its values are: a second, milliseconds, or a share (0..1) of the requests. */
  readonly unit: 'rate' | 'ms' | 'share'
  readonly better: 'more' | 'less'
}

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

export function runFigures(document: AttackDocument): RunFigures {
  const { okLatency, scheduled, good } = outcomeOf(document)
  const seconds = Math.max(1, planMs(document.plan)) / 1000
  const latency = (percent: number): number | null =>
    okLatency.count === 0 ? null : okLatency.smoothPercentile(percent)
  return {
    goodput: good / seconds,
    p50: latency(50),
    p90: latency(90),
    p99: latency(99),
    errors: scheduled === 0 ? null : (scheduled - okLatency.count) / scheduled,
  }
}
