/** Why the last shed happened, in one sentence for a person. Pure. */
import type { ShedReason } from './shed-reason.ts'
import type { LastShed } from './sheds.ts'

/** @param what such as "request that was shed" */
export function explainShed(last: LastShed | undefined, nowMs: number, what: string): string {
  if (last === undefined) return 'Nothing was shed.'
  return `The last ${what}, ${seconds(nowMs - last.atMs)} ago: ${whyShed(last)}.`
}

export function whyShed({ reason, inflight, limit, queued }: LastShed): string {
  return `${WHY[reason]} (${inflight} in service of ${limit} allowed, ${queued} waiting)`
}

const WHY: Readonly<Record<ShedReason, string>> = {
  standing: 'the queue had not drained for some time and enough fresh requests waited for the places to come',
  stale: 'it waited in a queue that did not drain until fresher requests made its turn hopeless',
  late: 'its turn had not come when it had waited as long as clients do',
  full: 'as many waited as may wait',
  deadline: 'it could not have been answered within its deadline',
  closing: 'a drain was under way',
  upgrade: 'it waited on a connection on which its client asked for another protocol, which can not wait behind it',
  memory: 'the heap was nearly full of live objects',
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`
}
