/** Explains a load without a single answer: a server that does not run, or one that hangs. Pure. */
import type { LoadOutcome } from '../load/plan.ts'
import { formatCount } from '../report/format.ts'

/** Undefined if there were answers, of any status. */
export function whyUnanswered(
  outcome: Pick<LoadOutcome, 'scheduled' | 'unsent' | 'answered' | 'failed'>,
): string | undefined {
  const { scheduled, unsent, answered, failed } = outcome
  if (scheduled === 0 || Object.values(answered).some(count => count > 0)) return undefined
  const reasons = Object.entries({ ...failed, 'not sent': unsent }).filter(([, count]) => count > 0)
  const why = reasons.map(([reason, count]) => `${formatCount(count)} ${reason}`).join(', ')
  return `none of ${formatCount(scheduled)} requests was answered (${why})`
}
