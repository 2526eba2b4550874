/** What of two runs is compared. Pure. */
import { lateOf, LOST_SHARE } from '../load/certify.ts'
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

/** A run in figures. */
export interface ReadRun {
  readonly figures: RunFigures
  /** Those that owe more to the generator's lateness than a certificate allows. */
  readonly late: readonly FigureName[]
}

export function readRun(document: AttackDocument): ReadRun {
  const outcome = outcomeOf(document)
  const { okLatency, scheduled, good } = outcome
  const latency = (percent: number): number | null =>
    okLatency.count === 0 ? null : okLatency.smoothPercentile(percent)
  return {
    figures: {
      goodput: good / loadSeconds(document.plan, outcome),
      p50: latency(50),
      p90: latency(90),
      p99: latency(99),
      errors: scheduled === 0 ? null : (scheduled - okLatency.count) / scheduled,
    },
    late: lateFigures(document, outcome),
  }
}

/** A certificate is about all figures, also those that are not compared: the slowest request is soon the generator's. */
function lateFigures({ plan }: AttackDocument, outcome: LoadOutcome): FigureName[] {
  const { okLatency, clean, unsent, good, scheduled, certified } = outcome
  if (certified) return []
  const late = lateOf({ measured: okLatency, clean: clean.ok })
  // A user asks again when the answer was read; at a rate, what counts is how many answers came in time.
  const inTime = clean.ok.count === 0 ? 0 : clean.ok.shareWithin(plan.sloMs) * clean.ok.count
  const lost = unsent > LOST_SHARE * scheduled || inTime - good > LOST_SHARE * inTime
  const goodput = lost || (plan.arrival.kind === 'closed' && late.includes('mean'))
  return [
    ...(goodput ? (['goodput'] as const) : []),
    ...(['p50', 'p90', 'p99'] as const).filter(name => late.includes(name)),
    ...(unsent > 0 ? (['errors'] as const) : []),
  ]
}
