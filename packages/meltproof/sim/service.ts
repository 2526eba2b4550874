/**
 * A simulated service: requests arrive at a loop, pass the real gate with a real limiter, burn CPU in slices and wait for
 * dependencies. Counts what clients saw.
 */
import { LEVELS, levelOf, readCriticality } from '../src/admission/queue/criticality.ts'
import { type Entry, Gate, type GateTuning } from '../src/admission/gate.ts'
import { LoadMeter } from '../src/admission/load-meter.ts'
import { KnownKinds } from '../src/admission/fairness/known-kinds.ts'
import type { Limiter } from '../src/admission/limiter/limiter.ts'
import type { Figures } from '../src/haproxy/advice.ts'
import { Abandoned } from '../src/admission/in-service/abandoned.ts'
import { Stragglers } from '../src/admission/in-service/stragglers.ts'
import { type Serving, ServiceTimes } from '../src/admission/in-service/service-times.ts'
import { Door, type DoorOptions } from './door.ts'
import { GroupCommit } from './group-commit.ts'
import { Listener } from './listener.ts'
import { Loop } from './loop.ts'
import { Pool } from './pool.ts'
import { Random } from './random.ts'
import type { Kind, Step, Workload } from './workload.ts'

export interface SimOptions {
  readonly seconds: number
  readonly seed?: number
  /** CPU of one shed, ms: parse, decide, write. */
  readonly shedCostMs?: number
  /** CPU of parsing and handing on one request, ms. */
  readonly parseCostMs?: number
  readonly tuning?: GateTuning
  /** Undefined: no admission at all. */
  readonly limiter: ((busyMs: () => number) => Limiter) | undefined
  /** Everybody counts, as behind a limit that an operator gave. @default false */
  readonly everybodyCounts?: boolean
  readonly sloMs?: number
  /** A proxy in front. */
  readonly door?: DoorOptions
}

export interface SimSecond {
  offered: number
  good: number
  late: number
  shed: number
  /** At the end of this second. */
  limit: number
  /** What the gate tells of its load then; 0 without one. */
  load: number
}

/** What became of the requests of one user, or of one class. */
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
  /** Latencies of answered requests, sorted, ms. */
  readonly latencies: Float64Array
  readonly shedLatencies: Float64Array
  /** How long those who were started waited at the gate, sorted, ms. */
  readonly waits: Float64Array
  /** The same for those that came in the second half, by user, class and kind; empty where the workload names none. */
  readonly users: SimTally[]
  readonly classes: SimTally[]
  readonly kinds: SimTally[]
  readonly inflightAtEnd: number
  readonly queuedAtEnd: number
  readonly limiter: Limiter | undefined
  readonly door: Door | undefined
}

export interface SimRequest extends Entry, Serving {
  readonly createdAt: number
  readonly tries: number
  readonly user: number
  level: number
  readonly kind: number
  readonly path: string
  readonly client: number
  /** Its kind by its path; -1: not asked yet. */
  knownKind: number
  steps: readonly Step[]
  step: number
  /** Its CPU takes so many times as long as it will later. */
  coldness: number
  /** `going on`: in service without a permit (stragglers.ts). `left`: in service for a client that has gone (abandoned.ts). */
  state: 'arriving' | 'waiting' | 'serving' | 'going on' | 'left' | 'over'
}

/** Of what a shed costs: reading the head and deciding, which is paid for everybody. */
export const HEAD_SHARE = 0.7

/** While somebody waits, the door looks this often for who outstays, ms. */
const LOOK_EVERY_MS = 5

export function simulate(workload: Workload, options: SimOptions): SimResult {
  const { seconds, seed = 1, shedCostMs = 0.008, parseCostMs = 0.03, sloMs = 1000 } = options
  const random = new Random(seed)
  const loop = new Loop(workload.core?.(new Random(seed + 0x5eed)))
  const pool = new Pool(workload.poolSize ?? 10)
  const { writeMs, eachMs } = workload.group ?? { writeMs: 5, eachMs: 0.05 }
  const pace = new Random(seed + 0xd15c)
  const group = new GroupCommit((parts, done) => {
    const ms = typeof writeMs === 'number' ? writeMs : writeMs(pace, loop.nowMs)
    loop.readyAt(loop.nowMs + ms + eachMs * parts, done)
  })
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
  let shedHere = 0
  let good = 0
  let offered = 0
  let gaveUp = 0
  let started = 0
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

  const limiter = options.limiter?.(() => loop.busyMs)
  const gate =
    limiter === undefined
      ? undefined
      : new Gate<SimRequest>(
          limiter,
          {
            now: () => loop.nowMs,
            turn: () => loop.turns,
            start: request => {
              waits.push(loop.nowMs - request.arrivedAt)
              serve(request)
            },
            shed: request => turnAway(request),
            wakeAtTurnEnd: () =>
              loop.setImmediate(() => {
                lookForStragglers()
                gate!.turnEnded(loop.nowMs)
              }),
            wakeAfter: ms => wakeAfter(ms),
            level: workload.criticality === undefined ? undefined : request => request.level,
            kind: workload.kinds === undefined ? undefined : request => knownKind(request),
            kindInService: request => request.kind,
            client: workload.kinds?.[0]?.client === undefined ? undefined : request => request.client,
          },
          options.tuning,
        )
  const meter =
    gate && new LoadMeter(nowMs => ({ loopMs: loop.busyMs, inServiceMs: gate.inServiceMs(nowMs) }), loop.nowMs)
  let unguarded = 0
  const door =
    options.door &&
    new Door(loop, options.door, () => ({
      abandoned: 0,
      admitted: started,
      draining: false,
      dryRun: false,
      inflight: gate?.inflight ?? unguarded,
      open: gate === undefined ? unguarded : gate.inflight + gate.queued + stragglers.count,
      limit: gate?.limit ?? 0,
      limitKnown: gate?.knownLimit !== undefined,
      queued: gate?.queued ?? 0,
      shed: { standing: shedHere } as Figures['shed'],
    }))
  let wakes = 0
  /** As the real timer, a later call takes the place of the earlier one. */
  function wakeAfter(ms: number): void {
    const wake = ++wakes
    loop.setTimer(ms, () => {
      if (wake !== wakes) return
      lookForStragglers()
      gate?.timeCame(loop.nowMs)
    })
  }

  const known = new KnownKinds(seed)
  function knownKind(request: SimRequest): number {
    if (request.knownKind < 0) {
      request.knownKind = known.of(request.path)
      known.came(request.knownKind, loop.nowMs)
    }
    return request.knownKind
  }

  const stays = new ServiceTimes<SimRequest>()
  const stragglers = new Stragglers(stays, options.tuning)
  const abandoned = new Abandoned(stays)
  const serving = new Set<SimRequest>()
  let lookedAt = 0
  let watching = false
  function lookForStragglers(): void {
    if (gate === undefined || gate.queued === 0 || loop.nowMs < lookedAt + LOOK_EVERY_MS) return
    lookedAt = loop.nowMs
    for (const request of abandoned.takePresumedOver(loop.nowMs, gate.limit)) drop(request)
    if (options.everybodyCounts || !stragglers.look(loop.nowMs, loop.busyMs)) return
    for (const request of serving) {
      if (stragglers.full || stragglers.tooShort(request)) return
      if (request.state === 'left' || !stragglers.has(request)) continue
      serving.delete(request)
      stragglers.goesOn(request)
      request.state = 'going on'
      gate.goOn(loop.nowMs, loop.nowMs - request.startedAt, request)
    }
  }

  function watchOutstayers(): void {
    if (watching) return
    watching = true
    loop.setTimer(LOOK_EVERY_MS, () => {
      watching = false
      if (gate!.queued === 0) return
      lookForStragglers()
      watchOutstayers()
    })
  }

  function arrive(createdAt: number, tries: number, user: number, given?: number): void {
    const kind = given ?? (workload.kinds === undefined ? 0 : pick(workload.kinds, random.next(), createdAt))
    const request: SimRequest = {
      createdAt,
      arrivedAt: 0,
      left: false,
      startBy: Number.POSITIVE_INFINITY,
      again: false,
      tries,
      user,
      level: workload.criticality === undefined ? levelOf() : readCriticality(workload.criticality(user, random))!,
      kind,
      path: workload.kinds?.[kind]?.path?.(random, createdAt) ?? `/kind/of${'/many'.repeat(kind)}`,
      client: workload.kinds?.[kind]?.client?.(random) ?? 0,
      knownKind: -1,
      steps: [],
      step: 0,
      coldness: 1,
      startedAt: 0,
      servingSince: 0,
      kindNoted: 0,
      answeredThen: 0,
      besideThen: 0,
      inServiceThen: 0,
      state: 'arriving',
    }
    if (door !== undefined) {
      const refuse = (): void => notServed(request)
      door.comes(createdAt, nowMs => loop.readyAt(nowMs, () => readHead(request)), refuse)
    } else if (listener === undefined) loop.readyAt(createdAt, () => readHead(request))
    else listener.connect(createdAt, () => readHead(request))
    count(request, 'offered')
    offered++
    if (workload.patienceMs !== undefined) {
      const leaves = createdAt + workload.patienceMs
      loop.readyAt(leaves, () => giveUp(request, leaves))
    }
  }

  function readHead(request: SimRequest): void {
    if (request.state === 'over') return
    if (gate === undefined) {
      unguarded++
      loop.burn(parseCostMs)
      serve(request)
      return
    }
    loop.burn(shedCostMs * HEAD_SHARE)
    meter?.offered(loop.nowMs)
    const decision = gate.offer(request, loop.nowMs)
    if (decision === 'start') {
      waits.push(0)
      loop.burn(parseCostMs)
      serve(request)
    } else if (decision === 'wait') {
      request.state = 'waiting'
      watchOutstayers()
    } else turnAway(request)
  }

  function giveUp(request: SimRequest, nowMs: number): void {
    if (request.state === 'over') return
    gaveUp++
    if (request.state === 'serving') {
      // As in Node, its handler runs on.
      request.state = 'left'
      abandoned.add(request, loop.nowMs)
    } else {
      if (request.state === 'waiting') gate?.abandon(request, loop.nowMs)
      stragglers.ended(request)
      request.state = 'over'
    }
    again(request, nowMs)
  }

  /** Its permit is free, though it was not answered. */
  function drop(request: SimRequest): void {
    if (!serving.delete(request)) return
    request.state = 'over'
    stays.gone(request)
    gate?.drop(loop.nowMs, loop.nowMs - request.startedAt, request)
    if (gate === undefined) unguarded--
  }

  function again(request: SimRequest, nowMs: number): void {
    if (request.tries < (workload.retries ?? 0)) {
      arrive(nowMs + random.exponential(100), request.tries + 1, request.user)
    }
  }

  function turnAway(request: SimRequest): void {
    loop.burn(shedCostMs * (1 - HEAD_SHARE))
    shedHere++
    door?.left()
    notServed(request)
  }

  function notServed(request: SimRequest): void {
    request.state = 'over'
    shed++
    meter?.shed()
    count(request, 'shed')
    shedLatencies.push(loop.nowMs - request.createdAt)
    again(request, loop.nowMs)
  }

  function serve(request: SimRequest): void {
    request.state = 'serving'
    request.startedAt = loop.nowMs
    if (request.knownKind < 0) request.knownKind = known.of(request.path)
    stays.started(request, request.kind)
    serving.add(request)
    request.steps =
      workload.kinds?.[request.kind]?.steps(random, request.createdAt) ?? workload.steps(random, request.createdAt)
    request.coldness = coldness()
    started++
    if (workload.gc !== undefined && started % workload.gc.everyRequests === 0) loop.burn(workload.gc.pauseMs)
    proceed(request)
  }

  /** How many times what a request costs later one costs that starts now. */
  function coldness(): number {
    const { times, requests } = workload.warmUp ?? { times: 1, requests: 1 }
    return 1 + (times - 1) * Math.exp(-started / requests)
  }

  function proceed(request: SimRequest): void {
    while (request.step < request.steps.length) {
      const step = request.steps[request.step++]!
      if (step === 'yield') {
        loop.setImmediate(() => proceed(request))
        return
      }
      if (step === 'write') {
        group.add(() => proceed(request))
        return
      }
      if ('cpu' in step) {
        loop.burn(step.cpu * request.coldness)
        continue
      }
      if ('timer' in step) {
        loop.setTimer(step.timer, () => proceed(request))
        return
      }
      if ('wait' in step) {
        loop.readyAt(loop.nowMs + step.wait, () => proceed(request))
        return
      }
      pool.acquire(() =>
        loop.readyAt(loop.nowMs + (typeof step.pool === 'number' ? step.pool : step.pool(loop.nowMs)), () => {
          pool.release()
          proceed(request)
        }),
      )
      return
    }
    // As in Node: an answer is written, and its permit comes back, when the callback is over that began its last slice.
    loop.nextTick(() => finish(request))
  }

  function finish(request: SimRequest): void {
    if (request.state === 'left') {
      abandoned.ended(request, loop.nowMs)
      drop(request)
    }
    if (request.state === 'over') return
    stragglers.ended(request)
    if (serving.delete(request)) {
      stays.answered(request, loop.nowMs)
      gate?.release(loop.nowMs, loop.nowMs - request.startedAt, request)
    }
    if (workload.kinds?.[request.kind]?.notFound === true) known.notFound(request.knownKind, request.path)
    else known.answered(request.knownKind, request.path, loop.nowMs, gate?.standing === true)
    request.state = 'over'
    door?.left()
    const latency = loop.nowMs - request.createdAt
    latencies.push(latency)
    if (latency <= sloMs) {
      good++
      count(request, 'good')
    } else {
      const second = perSecond[Math.floor(request.createdAt / 1000)]
      if (second !== undefined) second.late++
    }
    if (gate === undefined) unguarded--
  }

  const given = workload.arrivals
  const comes = (index: number): void => {
    const next = given?.[index]
    if (next === undefined) return
    arrive(next.atMs, 0, 0, next.kind)
    loop.kernelAt(next.atMs, () => comes(index + 1))
  }
  // Arrivals: a Poisson process whose rate may change, generated one ahead.
  const generate = (fromMs: number): void => {
    const rate = workload.rate(fromMs)
    const next = rate > 0 ? fromMs + random.exponential(1000 / rate) : fromMs + 100
    if (next >= endMs) return
    // The generator is outside of the server: it runs when the arrival is due, however busy the loop is, because
    // arrivals are queued by their own time.
    if (rate > 0) arrive(next, 0, workload.users === undefined ? 0 : Math.floor(random.next() * workload.users))
    loop.kernelAt(next, () => generate(next))
  }
  if (given === undefined) generate(0)
  else comes(0)
  for (const [stallAt, forMs] of workload.stalls ?? []) loop.readyAt(stallAt, () => loop.burn(forMs))
  const noteLimit = (ms: number): void => {
    const second = perSecond[Math.floor(ms / 1000)]
    if (second !== undefined && limiter !== undefined) second.limit = limiter.limit
    if (second !== undefined && meter !== undefined) second.load = meter.load(ms, gate!.knownLimit)
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
    latencies: Float64Array.from(latencies).sort(),
    shedLatencies: Float64Array.from(shedLatencies).sort(),
    waits: Float64Array.from(waits).sort(),
    users: userTallies,
    classes: classTallies,
    kinds: kindTallies,
    inflightAtEnd: gate?.inflight ?? unguarded,
    queuedAtEnd: gate?.queued ?? 0,
    limiter,
    door,
  }
}

export function quantile(sorted: Float64Array, q: number): number {
  return sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!
}

/** The kind on which a number from 0 to 1 falls. */
function pick(kinds: readonly Kind[], at: number, nowMs: number): number {
  let until = 0
  for (const [kind, { share }] of kinds.entries()) {
    until += typeof share === 'number' ? share : share(nowMs)
    if (at < until) return kind
  }
  return kinds.length - 1
}
