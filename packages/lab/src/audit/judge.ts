/** From what was seen to what is said of it. Pure. */
import { CAUSES, type Severity } from './causes.ts'
import type { Cause, Facts, Hold, ServerFacts, Tally } from './facts.ts'

export interface Finding {
  readonly cause: Cause
  readonly severity: Severity
  /** A sentence without its end: what was seen. */
  readonly what: string
  /** `src/prices.js:14 (loadPrice)`; null where no line of code is to blame, or none is known. */
  readonly where: string | null
  /** How often it was seen; null where that says nothing. */
  readonly times: number | null
  readonly remedy: string
}

/** What the lab saw of the end, from outside. */
export interface Shutdown {
  /** Requests that had no answer when SIGTERM came, and how many of them got none. */
  readonly inFlight: number
  readonly cut: number
  /** Processes that still ran when the lab gave up waiting. */
  readonly stillRunning: readonly number[]
  readonly waitedMs: number
}

/** A hold counts when it came so often, and took so much of the time. A single slow turn is a compilation, or a neighbour. */
const LEAST_HOLDS = 3
const LEAST_SHARE = 0.1
/** Of the requests: below it is a warning now and then, above it is the way the app works. */
const WRITES_PER_REQUEST = 0.1
const LEAST_WRITES = 10

/** `shutdown` is null when the audit was cut short before. The worst come first. */
export function judge(processes: readonly Facts[], shutdown: Shutdown | null): Finding[] {
  const order = Object.keys(CAUSES)
  const rank = ({ cause, severity }: Finding): number =>
    (severity === 'melts' ? 0 : order.length) + order.indexOf(cause)
  return [
    ...processes.flatMap(({ holds, watchedMs }) => holds.flatMap(hold => held(hold, watchedMs))),
    ...tallied(processes),
    ...processes.flatMap(({ servers }) => servers.flatMap(timeouts)),
    ...(shutdown === null ? [] : drain(processes, shutdown)),
  ].sort((a, b) => rank(a) - rank(b) || (b.times ?? 0) - (a.times ?? 0))
}

function finding(cause: Cause, what: string, where: string, times: number | null): Finding {
  return {
    cause,
    severity: CAUSES[cause].severity,
    what,
    where: where === '' ? null : where,
    times,
    remedy: CAUSES[cause].remedy,
  }
}

function held({ where, calls, tookMs }: Hold, watchedMs: number): Finding[] {
  const sorted = tookMs.toSorted((a, b) => a - b)
  const total = sorted.reduce((sum, each) => sum + each, 0)
  if (sorted.length < LEAST_HOLDS || total < watchedMs * LEAST_SHARE) return []
  const [median, longest] = [sorted[sorted.length >> 1]!, sorted.at(-1)!].map(Math.round)
  const call = calls === '' ? '' : `, in ${calls}`
  return [
    finding('loop-held', `the event loop is held for ${median} ms, at most ${longest} ms${call}`, where, sorted.length),
  ]
}

const SAYS: Readonly<Partial<Record<Cause, (what: string) => string>>> = {
  'fetch-unbounded': what => `fetch to ${what} has no time limit but undici's 300 s`,
  'http-unbounded': what => `a request to ${what} has no time limit`,
  'pg-query-unbounded': what => `a query at PostgreSQL on ${what} has no time limit`,
  'mysql-query-unbounded': what => `a query at MySQL on ${what} has no time limit`,
  'pg-pool-endless': what => `waiting for one of ${what} has no time limit`,
  'mysql-pool-endless': what => `the queue for ${what} has no limit`,
  'agent-endless': what => `the queue of requests to ${what} has no limit`,
}

/** Processes that do the same, such as the workers of a cluster, are one. */
function tallied(processes: readonly Facts[]): Finding[] {
  const merged = new Map<string, Tally>()
  for (const tally of processes.flatMap(({ tallies }) => tallies)) {
    const key = JSON.stringify([tally.cause, tally.what, tally.where])
    const before = merged.get(key)
    merged.set(key, {
      ...tally,
      times: tally.times + (before?.times ?? 0),
      longestQueue: Math.max(tally.longestQueue, before?.longestQueue ?? 0),
    })
  }
  const requests = processes.reduce((sum, each) => sum + each.requests, 0)
  return [...merged.values()].flatMap(({ cause, what, where, times, longestQueue }) => {
    if (cause === 'stdout-writes') {
      if (times < Math.max(LEAST_WRITES, requests * WRITES_PER_REQUEST)) return []
      const each = (times / Math.max(1, requests)).toFixed(1)
      return [finding(cause, `${each} writes to ${what} a request: a file or terminal holds the loop`, where, times)]
    }
    const queue = longestQueue === 0 ? '' : ` (longest seen: ${longestQueue})`
    return [finding(cause, `${SAYS[cause]?.(what) ?? what}${queue}`, where, times)]
  })
}

function timeouts({ address, headersTimeoutMs, requestTimeoutMs }: ServerFacts): Finding[] {
  const off = [
    ...(headersTimeoutMs === 0 ? ['headersTimeout'] : []),
    ...(requestTimeoutMs === 0 ? ['requestTimeout'] : []),
  ]
  if (off.length === 0) return []
  const are = off.length === 1 ? 'is' : 'are'
  return [finding('server-timeouts', `${off.join(' and ')} of the server on ${address} ${are} off`, '', null)]
}

function drain(processes: readonly Facts[], { inFlight, cut, stillRunning, waitedMs }: Shutdown): Finding[] {
  const lost = inFlight === 0 ? '' : `; ${cut} of ${inFlight} requests in flight were cut`
  const say = (what: string): Finding[] => [finding('no-drain', `${what}${lost}`, '', null)]
  if (processes.some(({ pid }) => stillRunning.includes(pid))) {
    return say(`on SIGTERM it did not end within ${Math.round(waitedMs / 1000)} s`)
  }
  if (processes.some(({ exit, listensToSigterm }) => exit === null && !listensToSigterm))
    return say('nothing handles SIGTERM')
  if (processes.some(({ exit }) => exit?.listening)) return say('on SIGTERM it exits with its server still open')
  const unfinished = processes.reduce((sum, { exit }) => sum + (exit?.unfinished ?? 0), 0)
  return unfinished === 0 ? [] : say('on SIGTERM it exits before its requests are answered')
}
