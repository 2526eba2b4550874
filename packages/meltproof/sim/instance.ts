/**
 * One simulated process. Requests pass the real gate with a real limiter, burn CPU in slices and wait for dependencies.
 * Hooks report the outcomes.
 */
import { Abandoned } from '../src/admission/in-service/abandoned.ts'
import { type Serving, ServiceTimes } from '../src/admission/in-service/service-times.ts'
import { KnownKinds } from '../src/admission/fairness/known-kinds.ts'
import { type Entry, Gate, type GateTuning } from '../src/admission/gate.ts'
import type { Limiter } from '../src/admission/limiter/limiter.ts'
import { LoadMeter } from '../src/admission/load-meter.ts'
import { levelOf } from '../src/admission/queue/criticality.ts'
import type { Figures } from '../src/haproxy/advice.ts'
import type { LoadFigures } from '../src/process-gate.ts'
import { Census } from './census.ts'
import { GroupCommit } from './group-commit.ts'
import type { Loop } from './loop.ts'
import { ownTimeOf } from './own-time.ts'
import { Pool } from './pool.ts'
import { Random } from './random.ts'
import type { Step, Workload } from './workload.ts'

/** The arguments return cumulative times of the event loop, ms. */
export type MakesLimiter = (busyMs: () => number, cpuMs: () => number) => Limiter

export interface InstanceOptions {
  /** CPU of one shed (parse, decide, write), ms. @default 0.008 */
  readonly shedCostMs?: number
  /** CPU of parsing one request and handing it on, ms. @default 0.03 */
  readonly parseCostMs?: number
  readonly tuning?: GateTuning
  /** Undefined disables admission. */
  readonly limiter: MakesLimiter | undefined
  /**
   * Replaces the limiter. Decides whether to admit a request after it waited this long for its head to be read. It may
   * use the work of the handlers, which no real admission can see. @default admits all
   */
  readonly door?: ((census: Census, waitedMs: number) => boolean) | undefined
}

export interface InstanceRequest extends Entry, Serving {
  level: number
  readonly kind: number
  readonly path: string
  readonly client: number
  /** When the client made the request, ms. */
  readonly createdAt: number
  /** The kind that its path maps to, or -1 until it is looked up. */
  knownKind: number
  steps: readonly Step[]
  step: number
  /** Its CPU takes this many times as long as in a warm process. */
  coldness: number
  /** A call that it made has failed, and so it fails too. */
  failed: boolean
  /** The status of its answer. */
  status: number
  /** The time that it takes on an otherwise idle service, as far as it is known, ms. */
  ownMs: number
  /** `left`: in service for a client that has gone (abandoned.ts). */
  state: 'arriving' | 'waiting' | 'serving' | 'left' | 'over'
}

export interface InstanceHooks<R extends InstanceRequest> {
  readonly answered: (request: R) => void
  readonly shed: (request: R) => void
  /** The request entered service after it had waited this long at the gate. */
  readonly started?: (waitedMs: number) => void
}

/** The share of a shed's cost for reading the head and deciding. Every request pays it. */
export const HEAD_SHARE = 0.7

/** While requests wait, the interval of the checks whether abandoned requests count as finished (abandoned.ts), ms. */
const LOOK_EVERY_MS = 5

/** Creates the state of an arriving request. */
export function arriving(
  createdAt: number,
  kind: number = 0,
  path: string = '/kind/of',
  level: number = levelOf(),
  client: number = 0,
): InstanceRequest {
  return {
    createdAt,
    arrivedAt: 0,
    dequeued: false,
    startBy: Number.POSITIVE_INFINITY,
    resumesUpload: false,
    level,
    kind,
    path,
    client,
    knownKind: -1,
    steps: [],
    step: 0,
    coldness: 1,
    failed: false,
    status: 200,
    ownMs: 0,
    startedAt: 0,
    servingSince: 0,
    serviceBucket: 0,
    answeredThen: 0,
    state: 'arriving',
  }
}

export class Instance<R extends InstanceRequest> {
  readonly loop: Loop
  readonly limiter: Limiter | undefined
  readonly census: Census = new Census()
  readonly #workload: Workload
  readonly #hooks: InstanceHooks<R>
  readonly #random: Random
  readonly #shedCostMs: number
  readonly #parseCostMs: number
  readonly #door: InstanceOptions['door']
  readonly #gate: Gate<R> | undefined
  readonly #meter: LoadMeter | undefined
  readonly #pool: Pool
  readonly #pools = new Map<string, Pool>()
  readonly #group: GroupCommit
  readonly #known: KnownKinds
  readonly #stays = new ServiceTimes<R>()
  readonly #abandoned: Abandoned<R>
  readonly #serving = new Set<R>()
  #unguarded = 0
  #started = 0
  #shed = 0
  #wakes = 0
  #lookedAt = 0
  #watching = false

  constructor(
    loop: Loop,
    workload: Workload,
    { shedCostMs = 0.008, parseCostMs = 0.03, tuning, limiter, door }: InstanceOptions,
    hooks: InstanceHooks<R>,
    random: Random,
    seed: number,
  ) {
    this.loop = loop
    this.#workload = workload
    this.#hooks = hooks
    this.#random = random
    this.#shedCostMs = shedCostMs
    this.#parseCostMs = parseCostMs
    this.#door = door
    this.#pool = new Pool(workload.poolSize ?? 10)
    for (const [name, size] of Object.entries(workload.pools ?? {})) this.#pools.set(name, new Pool(size))
    const { writeMs, eachMs } = workload.group ?? { writeMs: 5, eachMs: 0.05 }
    const pace = new Random(seed + 0xd15c)
    this.#group = new GroupCommit((parts, done) => {
      const ms = typeof writeMs === 'number' ? writeMs : writeMs(pace, loop.nowMs)
      loop.readyAt(loop.nowMs + ms + eachMs * parts, done)
    })
    this.#known = new KnownKinds(seed)
    this.#abandoned = new Abandoned(this.#stays)
    this.limiter = limiter?.(
      () => loop.busyMs,
      () => loop.cpuMs,
    )
    if (this.limiter === undefined) return
    const gate: Gate<R> = new Gate<R>(
      this.limiter,
      {
        now: () => loop.nowMs,
        turn: () => loop.turns,
        start: request => {
          hooks.started?.(loop.nowMs - request.arrivedAt)
          this.#serve(request)
        },
        shed: request => this.#turnAway(request),
        wakeAtTurnEnd: () =>
          loop.setImmediate(() => {
            this.#reclaimPermits()
            gate.turnEnded(loop.nowMs)
          }),
        wakeAfter: ms => this.#wakeAfter(ms),
        level: workload.criticality === undefined ? undefined : request => request.level,
        kind: workload.kinds === undefined ? undefined : request => this.#knownKind(request),
        quickMs: request => this.#stays.quickMs(this.#routeOf(request)),
        client: workload.kinds?.[0]?.client === undefined ? undefined : request => request.client,
      },
      tuning,
    )
    this.#gate = gate
    const worked = (nowMs: number) => ({ loopMs: loop.busyMs, inServiceMs: gate.inServiceMs(nowMs) })
    this.#meter = new LoadMeter(worked, loop.nowMs)
  }

  /** Requests in service. Where there is a gate, those without a permit are not counted. */
  get inflight(): number {
    return this.#gate?.inflight ?? this.#unguarded
  }

  get queued(): number {
    return this.#gate?.queued ?? 0
  }

  /** The value of the metric meltproof_load_ratio; 0 without a gate. */
  load(nowMs: number): number {
    return this.#meter?.load(nowMs, this.#gate!.knownLimit) ?? 0
  }

  /** The figures for balancers, as ProcessGate reports them; undefined without a gate. */
  loadFigures(nowMs: number): LoadFigures | undefined {
    const meter = this.#meter
    const limit = this.#gate?.countedLimit
    const rates = meter?.rates(nowMs, limit)
    if (meter === undefined || rates === undefined) return undefined
    const loop = meter.utilisation(nowMs, undefined)
    return { loop, utilisation: meter.utilisation(nowMs, limit), demand: meter.demand(nowMs), ...rates }
  }

  /** The figures for HAProxy's agent. */
  figures(): Figures {
    const gate = this.#gate
    return {
      abandoned: 0,
      admitted: this.#started,
      draining: false,
      dryRun: false,
      inflight: this.inflight,
      open: gate === undefined ? this.#unguarded : gate.inflight + gate.queued,
      limit: gate?.limit ?? 0,
      limitKnown: gate?.knownLimit !== undefined,
      queued: this.queued,
      shed: { standing: this.#shed } as Figures['shed'],
      utilisation: this.#meter?.utilisation(this.loop.nowMs, gate!.knownLimit) ?? 0,
    }
  }

  /** The loop reads the request's head in this turn. */
  readHead(request: R): void {
    if (request.state === 'over') return
    const { loop } = this
    if (this.#gate === undefined) {
      if (this.#door !== undefined) {
        loop.burn(this.#shedCostMs * HEAD_SHARE)
        if (!this.#door(this.census, loop.nowMs - request.createdAt)) {
          this.#turnAway(request)
          return
        }
      }
      this.#unguarded++
      loop.burn(this.#parseCostMs)
      this.#serve(request)
      return
    }
    loop.burn(this.#shedCostMs * HEAD_SHARE)
    this.#meter?.offered(loop.nowMs)
    const decision = this.#gate.offer(request, loop.nowMs)
    if (decision === 'start') {
      this.#hooks.started?.(0)
      loop.burn(this.#parseCostMs)
      this.#serve(request)
    } else if (decision === 'wait') {
      request.state = 'waiting'
      this.#watch()
    } else this.#turnAway(request)
  }

  /** The client has gone, and the loop learns of it now. */
  leaves(request: R): void {
    if (request.state === 'serving') {
      // As in Node, the handler keeps running.
      request.state = 'left'
      this.#abandoned.add(request, this.loop.nowMs)
      return
    }
    if (request.state === 'waiting') this.#gate?.withdraw(request, this.loop.nowMs)
    request.state = 'over'
  }

  /** Replaces an earlier wake-up that is still pending, as the real timer does. */
  #wakeAfter(ms: number): void {
    const wake = ++this.#wakes
    this.loop.setTimer(ms, () => {
      if (wake !== this.#wakes) return
      this.#reclaimPermits()
      this.#gate?.wakeUp(this.loop.nowMs)
    })
  }

  #knownKind(request: R): number {
    if (request.knownKind < 0) {
      request.knownKind = this.#known.of(request.path)
      this.#known.arrived(request.knownKind, this.loop.nowMs)
    }
    return request.knownKind
  }

  #reclaimPermits(): void {
    const [gate, { loop }] = [this.#gate, this]
    if (gate === undefined || gate.queued === 0 || loop.nowMs < this.#lookedAt + LOOK_EVERY_MS) return
    this.#lookedAt = loop.nowMs
    for (const request of this.#abandoned.takeTreatedAsFinished(loop.nowMs, gate.limit)) this.#drop(request)
  }

  #watch(): void {
    if (this.#watching) return
    this.#watching = true
    this.loop.setTimer(LOOK_EVERY_MS, () => {
      this.#watching = false
      if (this.#gate!.queued === 0) return
      this.#reclaimPermits()
      this.#gate!.wakeUp(this.loop.nowMs)
      this.#watch()
    })
  }

  /** Releases the permit of a request that was not answered. `ended`: the end of its handler was seen. */
  #drop(request: R, ended = false): void {
    if (!this.#serving.delete(request)) return
    request.state = 'over'
    this.#stays.gone(request)
    const serviceMs = this.loop.nowMs - request.startedAt
    if (ended) this.#gate?.releaseOrphan(this.loop.nowMs, serviceMs, request)
    else this.#gate?.drop(this.loop.nowMs, serviceMs, request)
    if (this.#gate === undefined) this.#unguarded--
  }

  #turnAway(request: R): void {
    this.loop.burn(this.#shedCostMs * (1 - HEAD_SHARE))
    this.#shed++
    request.state = 'over'
    this.#meter?.shed(this.loop.nowMs)
    this.#hooks.shed(request)
  }

  #routeOf(request: R): number {
    return this.#workload.kinds?.[request.kind]?.route ?? request.kind
  }

  #serve(request: R): void {
    const { loop } = this
    const workload = this.#workload
    request.state = 'serving'
    request.startedAt = loop.nowMs
    if (request.knownKind < 0) request.knownKind = this.#known.of(request.path)
    this.#stays.started(request, this.#routeOf(request))
    this.#serving.add(request)
    this.census.enters()
    request.steps =
      workload.kinds?.[request.kind]?.steps(this.#random, request.createdAt) ??
      workload.steps(this.#random, request.createdAt)
    request.coldness = this.#coldness()
    request.ownMs = ownTimeOf(request.steps, request.coldness)
    this.#started++
    if (workload.gc !== undefined && this.#started % workload.gc.everyRequests === 0) loop.burn(workload.gc.pauseMs)
    this.#proceed(request)
  }

  /** The cost of a request that starts now, as a multiple of its cost in a warm process. */
  #coldness(): number {
    const { times, requests } = this.#workload.warmUp ?? { times: 1, requests: 1 }
    return 1 + (times - 1) * Math.exp(-this.#started / requests)
  }

  #proceed(request: R): void {
    const { loop } = this
    while (request.step < request.steps.length) {
      const step = request.steps[request.step++]!
      if (step === 'yield') {
        loop.setImmediate(() => this.#proceed(request))
        return
      }
      if (step === 'write') {
        this.#group.add(() => this.#proceed(request))
        return
      }
      if ('cpu' in step) {
        loop.burn(step.cpu * request.coldness)
        continue
      }
      if ('status' in step) {
        request.status = step.status
        continue
      }
      if ('timer' in step) {
        this.census.rests()
        loop.setTimer(step.timer, () => this.#resume(request))
        return
      }
      if ('call' in step) {
        this.census.rests()
        const answered = (atMs: number, failed: boolean): void =>
          loop.readyAt(atMs, () => {
            request.failed = failed
            if (failed) request.step = request.steps.length
            this.#resume(request)
          })
        step.call(loop.nowMs, request, answered)
        return
      }
      if ('pool' in step) {
        this.#usePool(request, step)
        return
      }
      this.census.rests()
      const ms = 'wait' in step ? step.wait : 'upload' in step ? step.upload : step.stream
      loop.readyAt(loop.nowMs + ms, () => this.#resume(request))
      return
    }
    // As in Node, the answer is written and the permit is released after the callback of the last slice.
    loop.nextTick(() => this.#finish(request))
  }

  /** The request progressed by itself, and now needs the core again. */
  #resume(request: R): void {
    this.census.resumes()
    this.#proceed(request)
  }

  #usePool(request: R, { pool: holds, of }: Extract<Step, { readonly pool: unknown }>): void {
    const { loop } = this
    const pool = of === undefined ? this.#pool : this.#pools.get(of)
    if (pool === undefined) throw new Error(`no pool is called ${of}; the workload's \`pools\` names them`)
    pool.acquire(() => {
      const held = typeof holds === 'number' ? holds : holds(loop.nowMs)
      const { takesMs, ownMs } = typeof held === 'number' ? { takesMs: held, ownMs: held } : held
      if (typeof holds !== 'number') request.ownMs += ownMs
      const alone = takesMs <= ownMs
      if (alone) this.census.rests()
      loop.readyAt(loop.nowMs + takesMs, () => {
        pool.release()
        if (alone) this.#resume(request)
        else this.#proceed(request)
      })
    })
  }

  #finish(request: R): void {
    const { loop } = this
    this.census.leaves(loop.nowMs, request.status >= 400)
    if (request.state === 'left') {
      this.#abandoned.ended(request, loop.nowMs)
      this.#drop(request, true)
    }
    if (request.state === 'over') return
    if (this.#serving.delete(request)) {
      this.#stays.answered(request, loop.nowMs)
      this.#gate?.release(loop.nowMs, loop.nowMs - request.startedAt, request)
    }
    if (request.status === 404 || this.#workload.kinds?.[request.kind]?.notFound === true)
      this.#known.notFound(request.knownKind, request.path)
    else this.#known.answered(request.knownKind, request.path, loop.nowMs, this.#gate?.standing === true)
    if (request.failed) this.#meter?.failed()
    request.state = 'over'
    this.#hooks.answered(request)
    if (this.#gate === undefined) this.#unguarded--
  }
}
