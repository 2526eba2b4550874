/** Decides whether a run's figures may be trusted, and says why not. Pure. */
import { formatMultiple, formatPercent, formatRate } from './format.ts'
import type { MeltResult, StepResult } from './result.ts'

/** The app's capacity, or the speed of the core itself, may change this much between start and end. */
const steadyWithin = 0.05
/** Others may use this share of the server's core. */
const foreignBelow = 0.1

type Judged = Pick<MeltResult, 'conditions' | 'capacity' | 'steps'>

/** In sentences; none means certified. */
export function reasonsToDoubt({ conditions, capacity, steps }: Judged): string[] {
  const why: string[] = []
  if (conditions.pinning === null) {
    why.push('the server and the lab were not kept on different cores (that takes `taskset` and two cores)')
  }
  const busy = conditions.busyBefore
  if (busy !== null && Math.max(busy.server, busy.lab) >= foreignBelow) {
    why.push(
      `the machine was busy before the run: the server's core ${formatPercent(busy.server)}, the lab's ${formatPercent(busy.lab)}`,
    )
  }
  const { before, after } = conditions.spinPerMs
  if (before !== null && after !== null && Math.abs(after / before - 1) > steadyWithin) {
    why.push(`the core itself changed speed by ${formatPercent(Math.abs(after / before - 1))} during the run`)
  }
  if (capacity !== null && capacity.drift !== null && Math.abs(capacity.drift) > steadyWithin) {
    why.push(
      `the capacity drifted by ${formatPercent(Math.abs(capacity.drift))}: ` +
        `${formatRate(capacity.before)}/s before, ${formatRate(capacity.after!)}/s after`,
    )
  }
  why.push(
    ...grouped(steps, step => {
      const { foreignShare } = step.server
      return foreignShare !== null && foreignShare > foreignBelow
        ? ['something else used more than a tenth of the server’s core']
        : []
    }),
    ...grouped(steps, step => (step.generator.certified ? [] : step.generator.why)),
  )
  return why
}

/** One sentence per reason, with the steps it holds for. */
function grouped(steps: readonly StepResult[], reasonsOf: (step: StepResult) => readonly string[]): string[] {
  const where = new Map<string, string[]>()
  for (const step of steps) {
    for (const reason of reasonsOf(step)) {
      const label = `${step.arm} ${formatMultiple(step.multiple)}`
      const labels = where.get(reason)
      if (labels === undefined) where.set(reason, [label])
      else if (!labels.includes(label)) labels.push(label)
    }
  }
  return [...where].map(([reason, labels]) => `${labels.join(', ')}: ${reason}`)
}
