/** Describes why the last shed happened and why the limit has its value, in one sentence each. Pure. */
import type { LimitReason } from './limiter/limiter.ts'
import type { LastShed, ShedReason } from './sheds.ts'

/** @param what the noun in the sentence, such as "request that was shed" */
export function explainShed(last: LastShed | undefined, nowMs: number, what: string): string {
  if (last === undefined) return 'Nothing was shed.'
  return `The last ${what}, ${seconds(nowMs - last.atMs)} ago: ${whyShed(last)}.`
}

export function whyShed({ reason, inflight, limit, queued, memory }: LastShed): string {
  return `${memory ?? WHY[reason]} (in service: ${inflight} of at most ${limit}; waiting: ${queued})`
}

export function explainLimit(limit: number, reason: LimitReason): string {
  if (reason === 'none')
    return 'Concurrency is not limited: the event loop has spare time, and requests do not wait for each other.'
  return `At most ${limit} may be in service: ${WHY_LIMITED[reason]}.`
}

const WHY_LIMITED: Readonly<Record<Exclude<LimitReason, 'none'>, string>> = {
  set: 'the app set this limit',
  suspected:
    'requests took longer as more were in service; meltproof holds that number for up to a second to see whether this continues',
  busy: 'the event loop is busy; within a second meltproof finds out whether it is overloaded',
  loop: 'with more, the event loop was never idle, and requests only waited for each other',
  contention:
    'with more, requests waited for each other outside the event loop (a connection pool, a database, the thread pool)',
  halt: 'the requests in service stopped completing',
}

const WHY: Readonly<Record<ShedReason, string>> = {
  standing: 'the queue stayed long, and enough others were waiting',
  stale: 'it waited too long in a queue that stayed long',
  late: 'it waited the maximum of two seconds',
  full: 'the queue was full',
  deadline: 'it could not have been answered within its deadline',
  closing: 'a drain was under way',
  upgrade: 'its client asked to upgrade the connection, and an upgrade cannot wait in the queue',
  memory: 'the heap was nearly full of live objects',
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`
}
