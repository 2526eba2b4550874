/**
 * A simulated service: requests arrive at a loop, pass the real gate with a real law, burn CPU in slices and wait for
 * dependencies. Counts what clients saw.
 */
import { Gate, type GateTuning } from '../src/admission/gate.ts'
import type { LimitLaw } from '../src/admission/limit.ts'
import type { Waiting } from '../src/admission/queue.ts'
import { Loop } from './loop.ts'
import { Random } from './random.ts'

/** One step of a handler. */
export type Step =
  /** CPU without yielding, ms. */
  | { readonly cpu: number }
  /** Yields with setImmediate. */
  | 'yield'
  /** Waits for something with room for everybody, ms. */
  | { readonly wait: number }
  /** Holds one of the pool's connections for so long, ms. */
  | { readonly pool: number }

export interface Workload {
  /** Arrivals per second at a time. */
  readonly rate: (nowMs: number) => number
  /** What one request does. */
  readonly steps: (random: Random, nowMs: number) => readonly Step[]
  /** Connections of the one pool there is. @default 10 */
  readonly poolSize?: number
  /** Clients give up after so long, ms, and the server learns of it. @default never */
  readonly patienceMs?: number
  /** How often a client tries again, after a shed or giving up. @default 0 */
  readonly retries?: number
  /** Stalls of the loop: at, for, ms. */
  readonly stalls?: readonly (readonly [atMs: number, forMs: number])[]
  readonly speed?: (nowMs: number) => number
}

export interface SimOptions {
  readonly seconds: number
  readonly seed?: number
  /** CPU of one shed, ms: parse, decide, write. */
  readonly shedCostMs?: number
  /** CPU of parsing and handing on one request, ms. */
  readonly parseCostMs?: number
  readonly tuning?: GateTuning
  /** Undefined: no admission at all. */
  readonly law: ((busyMs: () => number) => LimitLaw) | undefined
  readonly sloMs?: number
}

export interface SimSecond {
  offered: number
  good: number
  late: number
  shed: number
  limit: number
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
  readonly inflightAtEnd: number
  readonly queuedAtEnd: number
  readonly law: LimitLaw | undefined
}

interface Request extends Waiting {
  readonly createdAt: number
  readonly tries: number
  steps: readonly Step[]
  step: number
  startedAt: number
  state: 'arriving' | 'waiting' | 'serving' | 'over'
}

export function simulate(workload: Workload, options: SimOptions): SimResult {
  const { seconds, seed = 1, shedCostMs = 0.008, parseCostMs = 0.03, sloMs = 1000 } = options
  const random = new Random(seed)
  const loop = new Loop()
  if (workload.speed !== undefined) loop.speed = workload.speed
  const perSecond: SimSecond[] = Array.from({ length: seconds }, () => ({
    offered: 0,
    good: 0,
    late: 0,
    shed: 0,
    limit: 0,
  }))
  const latencies: number[] = []
  const shedLatencies: number[] = []
  let shed = 0
  let good = 0
  let offered = 0
  let gaveUp = 0
  const endMs = seconds * 1000
  const at = (ms: number): SimSecond | undefined => perSecond[Math.floor(ms / 1000)]

  const law = options.law?.(() => loop.busyMs)
  const gate =
    law === undefined
      ? undefined
      : new Gate<Request>(
          law,
          {
            now: () => loop.nowMs,
            start: request => serve(request),
            shed: request => turnAway(request),
            wakeAtTurnEnd: () => loop.setImmediate(() => gate!.turnEnded(loop.nowMs)),
            wakeAfter: ms => wakeAfter(ms),
          },
          options.tuning,
        )
  let unguarded = 0
  let wakes = 0
  /** As the real timer, a later call takes the place of the earlier one. */
  function wakeAfter(ms: number): void {
    const wake = ++wakes
    loop.setTimer(ms, () => {
      if (wake === wakes) gate?.timeCame(loop.nowMs)
    })
  }

  const pool = { free: workload.poolSize ?? 10, waiting: [] as (() => void)[], head: 0 }

  function arrive(createdAt: number, tries: number): void {
    const request: Request = {
      createdAt,
      arrivedAt: 0,
      left: false,
      tries,
      steps: [],
      step: 0,
      startedAt: 0,
      state: 'arriving',
    }
    loop.readyAt(createdAt, () => {
      if (request.state === 'over') return
      if (gate === undefined) {
        unguarded++
        loop.burn(parseCostMs)
        return serve(request)
      }
      loop.burn(shedCostMs * 0.7)
      const decision = gate.offer(request, loop.nowMs)
      if (decision === 'start') {
        loop.burn(parseCostMs)
        serve(request)
        gate.handlerReturned(loop.nowMs)
      } else if (decision === 'wait') request.state = 'waiting'
      else turnAway(request)
    })
    const second = at(createdAt)
    if (second !== undefined) second.offered++
    offered++
    if (workload.patienceMs !== undefined) {
      const leaves = createdAt + workload.patienceMs
      loop.readyAt(leaves, () => giveUp(request, leaves))
    }
  }

  function giveUp(request: Request, nowMs: number): void {
    if (request.state === 'over') return
    gaveUp++
    if (request.state === 'waiting') gate?.abandon(request, loop.nowMs)
    // As in Node, the handler of a client that left runs on; its permit returns with the closed response.
    if (request.state === 'serving') gate?.release(loop.nowMs, loop.nowMs - request.startedAt)
    request.state = 'over'
    again(request, nowMs)
  }

  function again(request: Request, nowMs: number): void {
    if (request.tries < (workload.retries ?? 0)) arrive(nowMs + random.exponential(100), request.tries + 1)
  }

  function turnAway(request: Request): void {
    loop.burn(shedCostMs * 0.3)
    request.state = 'over'
    shed++
    const second = at(request.createdAt)
    if (second !== undefined) second.shed++
    shedLatencies.push(loop.nowMs - request.createdAt)
    again(request, loop.nowMs)
  }

  function serve(request: Request): void {
    request.state = 'serving'
    request.startedAt = loop.nowMs
    request.steps = workload.steps(random, request.createdAt)
    proceed(request)
  }

  function proceed(request: Request): void {
    while (request.step < request.steps.length) {
      const step = request.steps[request.step++]!
      if (step === 'yield') {
        loop.setImmediate(() => proceed(request))
        return
      }
      if ('cpu' in step) {
        loop.burn(step.cpu)
        continue
      }
      if ('wait' in step) {
        loop.readyAt(loop.nowMs + step.wait, () => proceed(request))
        return
      }
      const use = (): void => {
        loop.readyAt(loop.nowMs + step.pool, () => {
          const next = pool.waiting[pool.head]
          if (next === undefined) pool.free++
          else {
            pool.head++
            if (pool.head > 4096) {
              pool.waiting.splice(0, pool.head)
              pool.head = 0
            }
            next()
          }
          proceed(request)
        })
      }
      if (pool.free > 0) {
        pool.free--
        use()
      } else pool.waiting.push(use)
      return
    }
    finish(request)
  }

  function finish(request: Request): void {
    if (request.state === 'over') return
    request.state = 'over'
    const latency = loop.nowMs - request.createdAt
    latencies.push(latency)
    const second = at(request.createdAt)
    if (latency <= sloMs) {
      good++
      if (second !== undefined) second.good++
    } else if (second !== undefined) second.late++
    if (gate === undefined) unguarded--
    else gate.release(loop.nowMs, loop.nowMs - request.startedAt)
  }

  // Arrivals: a Poisson process whose rate may change, generated one ahead.
  const generate = (fromMs: number): void => {
    const rate = workload.rate(fromMs)
    const next = rate > 0 ? fromMs + random.exponential(1000 / rate) : fromMs + 100
    if (next >= endMs) return
    // The generator is outside of the server: it runs when the arrival is due, however busy the loop is, because
    // arrivals are queued by their own time.
    if (rate > 0) arrive(next, 0)
    loop.readyAt(next, () => generate(next))
  }
  generate(0)
  for (const [stallAt, forMs] of workload.stalls ?? []) loop.readyAt(stallAt, () => loop.burn(forMs))
  const noteLimit = (ms: number): void => {
    const second = at(ms)
    if (second !== undefined && law !== undefined) second.limit = law.limit
    if (ms + 1000 < endMs) loop.setTimer(1000, () => noteLimit(ms + 1000))
  }
  loop.setTimer(999, () => noteLimit(999))
  loop.run(endMs + 20_000)

  return {
    seconds: perSecond,
    offered,
    good,
    shed,
    gaveUp,
    latencies: Float64Array.from(latencies).sort(),
    shedLatencies: Float64Array.from(shedLatencies).sort(),
    inflightAtEnd: gate?.inflight ?? unguarded,
    queuedAtEnd: gate?.queued ?? 0,
    law,
  }
}

export function quantile(sorted: Float64Array, q: number): number {
  return sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!
}
