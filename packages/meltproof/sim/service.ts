/** A simulated service of one process: its arrivals, and the results that clients see. */
import { LEVELS, levelOf, readCriticality } from '../src/admission/queue/criticality.ts'
import type { Limiter } from '../src/admission/limiter/limiter.ts'
import { arriving, Instance, type InstanceOptions, type InstanceRequest } from './instance.ts'
import { Listener } from './listener.ts'
import { Loop } from './loop.ts'
import { Random } from './random.ts'
import { inItsTimeMs } from './own-time.ts'
import type { Cohort, Kind, Workload } from './workload.ts'

export interface SimOptions extends InstanceOptions {
  readonly seconds: number
  readonly seed?: number
  readonly sloMs?: number
}

export interface SimSecond {
  offered: number
  good: number
  late: number
  shed: number
  /** The limit at the end of this second. */
  limit: number
  /** The load that the gate reports at that time; 0 without a gate. */
  load: number
}

/** Outcomes of the requests of one user, class or kind. */
export interface SimTally {
  offered: number
  good: number
  shed: number
}

export interface SimResult {
  readonly seconds: SimSecond[]
  readonly offered: number
  readonly good: number
  readonly shed: number
  readonly gaveUp: number
  /** Answered late because of other requests (own-time.ts). Includes requests that were never answered. */
  readonly late: number
  /** Answered on time (own-time.ts), whatever the status. */
  readonly inItsTime: number
  /**
   * The most handlers at work at once, the most that contended at once, and the most that left in a second (census.ts).
   */
  readonly mostInService: number
  readonly mostContending: number
  readonly mostLeft: number
  /** Latencies of answered requests, sorted, ms. */
  readonly latencies: Float64Array
  readonly shedLatencies: Float64Array
  /** How long started requests waited at the gate, sorted, ms. */
  readonly waits: Float64Array
  /** Outcomes of requests from the second half, by user, class and kind; empty where the workload names none. */
  readonly users: SimTally[]
  readonly classes: SimTally[]
  readonly kinds: SimTally[]
  readonly inflightAtEnd: number
  readonly queuedAtEnd: number
  readonly limiter: Limiter | undefined
}

interface SimRequest extends InstanceRequest {
  readonly tries: number
  readonly user: number
  readonly session: Session | undefined
}

/** A client of a cohort. */
interface Session {
  readonly cohort: Cohort
  sent: number
}

export function simulate(workload: Workload, options: SimOptions): SimResult {
  const { seconds, seed = 1, sloMs = 1000 } = options
  const random = new Random(seed)
  const loop = new Loop(workload.core?.(new Random(seed + 0x5eed)))
  const listener =
    workload.fresh === undefined ? undefined : new Listener(loop, workload.fresh.lanes, workload.fresh.acceptCostMs)
  const perSecond: SimSecond[] = Array.from({ length: seconds }, () => ({
    offered: 0,
    good: 0,
    late: 0,
    shed: 0,
    limit: 0,
    load: 0,
  }))
  const tallies = (length: number): SimTally[] => Array.from({ length }, () => ({ offered: 0, good: 0, shed: 0 }))
  const userTallies = tallies(workload.users ?? 0)
  const classTallies = tallies(workload.criticality === undefined ? 0 : 4)
  const kindTallies = tallies(workload.kinds?.length ?? 0)
  const latencies: number[] = []
  const shedLatencies: number[] = []
  const waits: number[] = []
  let shed = 0
  let good = 0
  let offered = 0
  let gaveUp = 0
  let late = 0
  let inItsTime = 0
  const open = new Set<SimRequest>()
  const endMs = seconds * 1000
  const count = (request: SimRequest, what: 'offered' | 'good' | 'shed'): void => {
    const second = perSecond[Math.floor(request.createdAt / 1000)]
    if (second !== undefined) second[what]++
    if (request.createdAt < endMs / 2) return
    const user = userTallies[request.user]
    if (user !== undefined) user[what]++
    const ofClass = classTallies[Math.floor((request.level * 4) / LEVELS)]
    if (ofClass !== undefined) ofClass[what]++
    const ofKind = kindTallies[request.kind]
    if (ofKind !== undefined) ofKind[what]++
  }

  const hooks = { answered, shed: turnedAway, started: (waitedMs: number): void => void waits.push(waitedMs) }
  const instance = new Instance<SimRequest>(loop, workload, options, hooks, random, seed)
  const { limiter } = instance

  function arrive(createdAt: number, tries: number, user: number, given?: number, session?: Session): void {
    const kind = given ?? (workload.kinds === undefined ? 0 : pick(workload.kinds, random.next(), createdAt))
    const level = workload.criticality === undefined ? levelOf() : readCriticality(workload.criticality(user, random))!
    const path = workload.kinds?.[kind]?.path?.(random, createdAt) ?? `/kind/of${'/many'.repeat(kind)}`
    const client = workload.kinds?.[kind]?.client?.(random) ?? 0
    const request: SimRequest = Object.assign(arriving(createdAt, kind, path, level, client), { tries, user, session })
    open.add(request)
    const come = (): void => instance.readHead(request)
    if (listener === undefined) loop.readyAt(createdAt, come)
    else listener.connect(createdAt, come)
    count(request, 'offered')
    offered++
    if (workload.patienceMs !== undefined) {
      const leaves = createdAt + workload.patienceMs
      loop.readyAt(leaves, () => giveUp(request, leaves))
    }
  }

  function giveUp(request: SimRequest, nowMs: number): void {
    if (request.state === 'over') return
    gaveUp++
    open.delete(request)
    if (nowMs - request.createdAt >= inItsTimeMs(request.ownMs, sloMs)) late++
    instance.leaves(request)
    again(request, nowMs)
  }

  function again(request: SimRequest, nowMs: number): void {
    if (request.tries < (workload.retries ?? 0)) {
      arrive(nowMs + random.exponential(100), request.tries + 1, request.user)
    } else goOn(request, nowMs)
  }

  /** The client of a cohort sends its next request, if one is left. */
  function goOn({ session }: SimRequest, nowMs: number): void {
    if (session === undefined) return
    const { thinkMs } = session.cohort
    send(session, thinkMs === undefined ? nowMs : nowMs + random.exponential(thinkMs))
  }

  function send(session: Session, atMs: number): void {
    const { requests, kind } = session.cohort
    const n = session.sent++
    if (n < requests) arrive(atMs, 0, 0, kind?.(n) ?? 0, session)
  }

  function turnedAway(request: SimRequest): void {
    shed++
    open.delete(request)
    count(request, 'shed')
    shedLatencies.push(loop.nowMs - request.createdAt)
    again(request, loop.nowMs)
  }

  function answered(request: SimRequest): void {
    const latency = loop.nowMs - request.createdAt
    latencies.push(latency)
    open.delete(request)
    if (latency <= inItsTimeMs(request.ownMs, sloMs)) inItsTime++
    else late++
    if (latency > sloMs) {
      const second = perSecond[Math.floor(request.createdAt / 1000)]
      if (second !== undefined) second.late++
    } else if (request.status < 400) {
      good++
      count(request, 'good')
    }
    if (request.status >= 500) again(request, loop.nowMs)
    else goOn(request, loop.nowMs)
  }

  const given = workload.arrivals
  const comes = (index: number): void => {
    const next = given?.[index]
    if (next === undefined) return
    arrive(next.atMs, 0, 0, next.kind)
    loop.kernelAt(next.atMs, () => comes(index + 1))
  }
  // Arrivals form a Poisson process whose rate may change. Each arrival schedules the next.
  const generate = (fromMs: number): void => {
    const rate = workload.rate(fromMs)
    const next = rate > 0 ? fromMs + random.exponential(1000 / rate) : fromMs + 100
    if (next >= endMs) return
    // The generator is outside the server. It runs when an arrival is due, however busy the loop is, because arrivals
    // are queued by their own time.
    if (rate > 0) arrive(next, 0, workload.users === undefined ? 0 : Math.floor(random.next() * workload.users))
    loop.kernelAt(next, () => generate(next))
  }
  if (given === undefined) generate(0)
  else comes(0)
  for (const cohort of workload.cohorts ?? []) {
    const { atMs, clients, withinMs = 0 } = cohort
    for (let i = 0; i < clients; i++) send({ cohort, sent: 0 }, atMs + (withinMs * i) / clients)
  }
  for (const [stallAt, forMs] of workload.stalls ?? []) loop.readyAt(stallAt, () => loop.burn(forMs))
  const noteLimit = (ms: number): void => {
    const second = perSecond[Math.floor(ms / 1000)]
    if (second !== undefined && limiter !== undefined) second.limit = limiter.limit
    if (second !== undefined) second.load = instance.load(ms)
    if (ms + 1000 < endMs) loop.kernelAt(ms + 1000, () => noteLimit(ms + 1000))
  }
  loop.kernelAt(999, () => noteLimit(999))
  loop.run(endMs + 40_000)

  return {
    seconds: perSecond,
    offered,
    good,
    shed,
    gaveUp,
    late: late + [...open].filter(each => loop.nowMs - each.createdAt > inItsTimeMs(each.ownMs, sloMs)).length,
    inItsTime,
    mostInService: instance.census.mostInService,
    mostContending: instance.census.mostContending,
    mostLeft: instance.census.mostLeft,
    latencies: Float64Array.from(latencies).sort(),
    shedLatencies: Float64Array.from(shedLatencies).sort(),
    waits: Float64Array.from(waits).sort(),
    users: userTallies,
    classes: classTallies,
    kinds: kindTallies,
    inflightAtEnd: instance.inflight,
    queuedAtEnd: instance.queued,
    limiter,
  }
}

export function quantile(sorted: Float64Array, q: number): number {
  return sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!
}

/** Picks the kind for a number between 0 and 1. */
function pick(kinds: readonly Kind[], at: number, nowMs: number): number {
  let until = 0
  for (const [kind, { share }] of kinds.entries()) {
    until += typeof share === 'number' ? share : share(nowMs)
    if (at < until) return kind
  }
  return kinds.length - 1
}
