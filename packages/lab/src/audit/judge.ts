/** Turns observed facts into findings. Pure. */
import { type Cause, CAUSES, type Severity } from './causes.ts'
import type { Facts, Hold, PathFacts, ServerFacts, Tally } from './facts.ts'

export interface Finding {
  readonly cause: Cause
  readonly severity: Severity
  /** The observation, as a sentence without its full stop. */
  readonly what: string
  /** Such as `src/prices.js:14 (loadPrice)`; null if no line of code is to blame, or none is known. */
  readonly where: string | null
  /** Number of observations; null if the number means nothing. */
  readonly times: number | null
  readonly remedy: string
}

/** Observations of the lab from outside, during the shutdown. */
export interface Shutdown {
  /** Requests in flight when SIGTERM was sent, and how many of them got no answer. */
  readonly inFlight: number
  readonly cut: number
  /** Processes that still ran when the lab stopped waiting. */
  readonly stillRunning: readonly number[]
  readonly waitedMs: number
}

/** With fewer sequential requests, a path is not judged. */
export const LEAST_REQUESTS = 5
/**
 * A `loop-held` finding needs this many stalls and this share of the path's time: a single stall may be a compilation.
 */
const LEAST_HOLDS = 3
const LEAST_SHARE = 0.1
/**
 * A path with at least this many log writes per request logs as part of its usual work; fewer are occasional
 * warnings.
 */
const WRITES_PER_REQUEST = 0.1
const LEAST_WRITES = 10

/** `shutdown` is null if the audit ended before it. Worst findings first. */
export function judge(processes: readonly Facts[], shutdown: Shutdown | null): Finding[] {
  const order = Object.keys(CAUSES)
  const rank = ({ cause }: Finding): number => order.indexOf(cause)
  return [
    ...held(processes),
    ...tallied(processes),
    ...processes.flatMap(({ servers }) => servers.flatMap(timeouts)),
    ...(shutdown === null ? [] : drain(processes, shutdown)),
  ].sort((a, b) => rank(a) - rank(b) || (b.times ?? 0) - (a.times ?? 0))
}

function finding(cause: Cause, what: string, where: string, times: number | null): Finding {
  const { severity, remedy } = CAUSES[cause]
  return { cause, severity, what, where: where === '' ? null : where, times, remedy }
}

/** The sequential requests to each path, over all processes. */
function pathsOf(processes: readonly Facts[]): ReadonlyMap<string, PathFacts> {
  const byPath = Map.groupBy(
    processes.flatMap(({ paths }) => paths),
    ({ path }) => path,
  )
  return new Map(
    [...byPath].map(([path, those]) => {
      const sum = (of: (each: PathFacts) => number): number => those.reduce((total, each) => total + of(each), 0)
      return [path, { path, requests: sum(each => each.requests), tookMs: sum(each => each.tookMs) }]
    }),
  )
}

/** Paths, with their queries, that had too few requests to be judged. */
export function pathsWithTooFewRequests(processes: readonly Facts[], paths: readonly string[]): readonly string[] {
  const asked = pathsOf(processes)
  return paths.filter(path => (asked.get(path)?.requests ?? 0) < LEAST_REQUESTS)
}

/** Each path is judged alone; a function that several paths call is one finding. */
function held(processes: readonly Facts[]): Finding[] {
  const asked = pathsOf(processes)
  const holds = processes.flatMap(each => each.holds)
  const heavy = [...Map.groupBy(holds, ({ where, path }) => JSON.stringify([where, path])).values()].filter(those => {
    const tookMs = those.flatMap(each => each.tookMs)
    const share = tookMs.reduce((sum, each) => sum + each, 0) / (asked.get(those[0]!.path)?.tookMs ?? 0)
    return tookMs.length >= LEAST_HOLDS && share >= LEAST_SHARE
  })
  return [...Map.groupBy(heavy.flat(), ({ where }) => where).values()].map(heldAt)
}

function heldAt(holds: readonly Hold[]): Finding {
  const sorted = holds.flatMap(({ tookMs }) => tookMs).sort((a, b) => a - b)
  const [median, longest] = [sorted[sorted.length >> 1]!, sorted.at(-1)!].map(Math.round)
  const calls = holds.find(each => each.calls !== '')?.calls
  const what = `the event loop is blocked for ${median} ms (median), at most ${longest} ms${calls === undefined ? '' : `, in ${calls}`}`
  return finding('loop-held', what, holds[0]!.where, sorted.length)
}

const SAYS: Readonly<Partial<Record<Cause, (what: string) => string>>> = {
  'fetch-unbounded': what => `fetch to ${what} has no time limit but undici's 300 s`,
  'http-unbounded': what => `a request to ${what} has no time limit`,
  'pg-query-unbounded': what => `a query to PostgreSQL on ${what} has no time limit`,
  'mysql-query-unbounded': what => `a query to MySQL on ${what} has no time limit`,
  'pg-pool-endless': what => `waiting for one of ${what} has no time limit`,
  'mysql-pool-endless': what => `the queue for ${what} has no limit`,
  'agent-endless': what => `the queue of requests to ${what} has no limit`,
}

/** Facts that several processes share, such as the workers of a cluster, become one finding. */
function tallied(processes: readonly Facts[]): Finding[] {
  const all = processes.flatMap(({ tallies }) => tallies)
  const asked = pathsOf(processes)
  const alone = [...asked.values()].reduce((sum, { requests }) => sum + requests, 0)
  const together = processes.reduce((sum, { requests }) => sum + requests, 0) - alone
  return [...Map.groupBy(all, ({ cause, what, where }) => JSON.stringify([cause, what, where])).values()].flatMap(
    those => {
      const { cause, what, where } = those[0]!
      const times = timesOf(those)
      if (cause === 'stdout-writes') {
        const perRequest = [...Map.groupBy(those, ({ path }) => path)].map(([path, written]) =>
          writesEach(timesOf(written), path === '' ? together : (asked.get(path)?.requests ?? 0)),
        )
        const most = Math.max(...perRequest)
        const said = `${most.toFixed(1)} writes to ${what} a request: a file or terminal blocks the loop`
        return most === 0 ? [] : [finding(cause, said, where, times)]
      }
      const longest = Math.max(...those.map(({ longestQueue }) => longestQueue))
      const queue = longest === 0 ? '' : ` (longest seen: ${longest})`
      return [finding(cause, `${SAYS[cause]?.(what) ?? what}${queue}`, where, times)]
    },
  )
}

const timesOf = (tallies: readonly Tally[]): number => tallies.reduce((sum, { times }) => sum + times, 0)

/** Writes per request of one path; 0 if they are too few to belong to its usual work. */
function writesEach(times: number, requests: number): number {
  const enough = times >= Math.max(LEAST_WRITES, requests * WRITES_PER_REQUEST)
  return enough || (requests >= LEAST_REQUESTS && times >= requests) ? times / Math.max(1, requests) : 0
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
