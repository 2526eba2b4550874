/** Reasons to doubt the figures of a melt run. Pure. */
import { formatMultiple, formatPercent, formatRate } from '../report/format.ts'
import type { Capacity, MeltMeasured, StepResult } from './measured.ts'
import { whyUnjudged } from './summary.ts'

/** Maximum change of the app's capacity, or of the core's speed, between start and end. */
const steadyWithin = 0.05

type Judged = Pick<MeltMeasured, 'capacity' | 'spinPerMs' | 'steps' | 'recovery'>

/** Returns sentences; empty if there is no reason to doubt the figures. */
export function reasonsToDoubt({ capacity, spinPerMs: { before, after }, steps, recovery }: Judged): string[] {
  const why: string[] = []
  if (before !== null && after !== null && Math.abs(after / before - 1) > steadyWithin) {
    why.push(`the core itself changed speed by ${formatPercent(Math.abs(after / before - 1))} during the run`)
  }
  if (capacity !== null) why.push(...drifted(capacity))
  why.push(
    ...grouped(steps, step => [whyUnjudged(step, capacity ?? { rate: 0 })].filter(reason => reason !== undefined)),
    ...grouped(steps, ({ generator }) => (generator.certified ? [] : generator.why)),
    ...(recovery?.arms ?? []).flatMap(({ arm, unsure }) => (unsure === null ? [] : [`${arm}, recovery: ${unsure}`])),
  )
  return why
}

function drifted({ drift, ownDrift, before, after }: Capacity): string[] {
  if (drift === null || Math.abs(drift) <= steadyWithin) return []
  const share = formatPercent(Math.abs(drift))
  const reason = ownDrift !== undefined && ownDrift <= steadyWithin ? ', as did the speed of the core' : ''
  return [`the capacity drifted by ${share}: ${formatRate(before)}/s before, ${formatRate(after!)}/s after${reason}`]
}

/** One sentence for each reason, with the steps to which it applies. */
function grouped(steps: readonly StepResult[], reasonsOf: (step: StepResult) => readonly string[]): string[] {
  const found = steps.flatMap(step =>
    reasonsOf(step).map(reason => ({ reason, label: `${step.arm} ${formatMultiple(step.multiple)}` })),
  )
  const byReason = Map.groupBy(found, each => each.reason)
  return [...byReason].map(([reason, those]) => `${[...new Set(those.map(each => each.label))].join(', ')}: ${reason}`)
}
