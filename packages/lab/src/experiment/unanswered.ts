/** What to say of a load of which not one request was answered: a server that does not run, or one that hangs. Pure. */
import type { LoadOutcome } from '../load/plan.ts'
import { formatCount } from '../report/format.ts'

/** Undefined when there were answers, of whatever status. */
export function whyUnanswered({
  scheduled,
  unsent,
  answered,
  failed,
}: Pick<LoadOutcome, 'scheduled' | 'unsent' | 'answered' | 'failed'>): string | undefined {
  if (scheduled === 0 || Object.values(answered).some(count => count > 0)) return undefined
  const reasons = Object.entries({ ...failed, 'not sent': unsent }).filter(([, count]) => count > 0)
  const why = reasons.map(([reason, count]) => `${formatCount(count)} ${reason}`).join(', ')
  return `none of ${formatCount(scheduled)} requests was answered (${why})`
}
