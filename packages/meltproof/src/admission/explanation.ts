/** Why the last shed happened, and why the limit is what it is, in a sentence each for a person. Pure. */
import type { LimitReason } from './limiter/limiter.ts'
import type { ShedReason } from './shed-reason.ts'
import type { LastShed } from './sheds.ts'

/** @param what such as "request that was shed" */
export function explainShed(last: LastShed | undefined, nowMs: number, what: string): string {
  if (last === undefined) return 'Nothing was shed.'
  return `The last ${what}, ${seconds(nowMs - last.atMs)} ago: ${whyShed(last)}.`
}

export function whyShed({ reason, inflight, limit, queued, memory }: LastShed): string {
  return `${memory ?? WHY[reason]} (${inflight} in service of ${limit} allowed, ${queued} waiting)`
}

export function explainLimit(limit: number, reason: LimitReason): string {
  if (reason === 'none')
    return 'Nothing limits how many are in service: the event loop has room, and none waits for another.'
  return `At most ${limit} may be in service: ${WHY_LIMITED[reason]}.`
}

const WHY_LIMITED: Readonly<Record<Exclude<LimitReason, 'none'>, string>> = {
  set: 'that is the limit which was set',
  suspected: 'they took longer the more there were, and for a second at most few are added to see whether that goes on',
  loop: 'the event loop never rests, and more would only wait for each other',
  contention: 'beyond that they were seen to wait for each other behind the event loop',
  halt: 'those in service stopped being answered',
}

const WHY: Readonly<Record<ShedReason, string>> = {
  standing: 'the queue stayed long, and newer requests took the free permits',
  stale: 'the queue stayed long, and it waited too long behind newer requests',
  late: 'it waited the maximum of two seconds',
  full: 'the queue was full',
  deadline: 'it could not have been answered within its deadline',
  closing: 'a drain was under way',
  upgrade: 'it waited on a connection on which its client asked for another protocol, which can not wait behind it',
  memory: 'the heap was nearly full of live objects',
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`
}
