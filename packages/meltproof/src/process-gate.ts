/**
 * A gate that runs in this process: the event loop wakes it, started work holds permits, and it counts decisions. Each
 * server (server/gate/) has one, each limiter (limiter/), and each origin of limited calls (outbound/adaptive.ts).
 */
import { clearTimeout, setImmediate, setTimeout } from 'node:timers'
import { type Decision, Gate, type GateTuning } from './admission/gate.ts'
import { type Admitted, type PermitHooks, Permits } from './admission/in-service/permits.ts'
import { explainLimit, explainShed } from './admission/explanation.ts'
import { ConcurrencyLimiter } from './admission/limiter/concurrency-limiter.ts'
import { fixedLimit, type Limiter } from './admission/limiter/limiter.ts'
import { LIMITER_TUNING, type LimiterTuning } from './admission/limiter/tuning.ts'
import { LoadMeter, type Rates } from './admission/load-meter.ts'
import type { QueueHooks } from './admission/queue/standing-queue.ts'
import { type ShedReason, Sheds } from './admission/sheds.ts'
import { now } from './clock.ts'
import type { FailOpen } from './fail-open.ts'
import { cpuMs, loopTurn, loopWorkedMs } from './signals/loop-figures.ts'
import { quietly } from './warnings.ts'

/** Figures of one gate at this moment. Work means requests, runs of a limiter, or outbound calls. */
export interface GateStats {
  /** Work in service that holds a permit. */
  readonly inflight: number
  /** Part of {@link inflight}: work that takes far longer than other work, so that the limit does not count it. */
  readonly stragglers: number
  /** Work that still holds a permit although no client waits for it: the client has left, got a 504, or cancelled. */
  readonly abandoned: number
  /** Work that waits for a permit. */
  readonly queued: number
  /** The limit of concurrent work: learned, or set by the operator. */
  readonly limit: number
  /** Work admitted since the start. */
  readonly admitted: number
  /** Work shed since the start, by reason; in a dry run, work that would have been shed. */
  readonly shed: Readonly<Record<ShedReason, number>>
  /** 0 (recent work started at once) to 1 (all is shed); above 0.5 some is being shed. */
  readonly pressure: number
  /**
   * 0 to 1, over the last one to two seconds: the larger of the loop's busy share and, once the limit is known, the
   * work in service divided by the limit.
   */
  readonly utilisation: number
  /**
   * Work offered, divided by work admitted, over the last one to two seconds: 1 without sheds, 3 when three such
   * instances are needed.
   */
  readonly demand: number
  /** Utilisation times demand: 0 when idle, 1 at capacity, 3 when three such instances are needed. For autoscalers. */
  readonly load: number
  /** True if the limit was set by the operator, or was learned and has not been forgotten. */
  readonly limitKnown: boolean
}

/** The figures from which a balancer computes an instance's weight, all over the same one to two seconds. */
export interface LoadFigures extends Pick<GateStats, 'demand'>, Rates {
  /** Busy share of the event loop, 0 to 1. */
  readonly loop: number
  /**
   * The larger of {@link loop} and the work in service divided by the limit. While the limit is unknown, an estimate
   * replaces it, so that instances stay comparable.
   */
  readonly utilisation: number
}

export interface ProcessGateParts<E extends Admitted<E>> extends Omit<QueueHooks<E>, 'shed'> {
  readonly limiter: Limiter
  readonly tuning: GateTuning
  readonly failOpen: FailOpen
  readonly permits?: PermitHooks<E>
  /** Ends permits that are not needed. @default ends the permits of work that is treated as finished */
  readonly reclaim?: (nowMs: number) => void
  /** Starts work that has waited, after calling {@link ProcessGate.permit} for it. */
  readonly start: (entry: E) => void
  readonly shed: (entry: E, reason: ShedReason) => void
  /** When the caller stops waiting for the result, ms; absent without deadlines. */
  readonly answerBy: ((entry: E) => number) | undefined
}

/** While work waits, the gate looks for permits that are not needed at this interval, ms. */
const LOOK_MS = 5

export class ProcessGate<E extends Admitted<E>> {
  admitted = 0
  readonly failOpen: FailOpen
  readonly load: LoadMeter
  readonly sheds: Sheds = new Sheds()
  readonly permits: Permits<E>
  /** Decides whether work starts, waits or is shed. */
  readonly admission: Gate<E>
  readonly #reclaim: (nowMs: number) => void
  #timer: NodeJS.Timeout | undefined
  #lookTimer: NodeJS.Timeout | undefined

  constructor(parts: ProcessGateParts<E>) {
    const { limiter, tuning, failOpen, permits, reclaim, start, shed, level, kind, client, answerBy } = parts
    this.failOpen = failOpen
    const turnEnded = (): void => this.#wake('turnEnded')
    const wakeUp = (): void => this.#wake('wakeUp')
    const hooks = {
      now,
      turn: loopTurn,
      start,
      shed,
      wakeAtTurnEnd: () => void setImmediate(turnEnded),
      wakeAfter: (ms: number) => {
        clearTimeout(this.#timer)
        this.#timer = setTimeout(wakeUp, ms).unref()
      },
      level,
      kind,
      client,
      quickMs: (entry: E) => this.permits.quickMs(entry),
      startBy: answerBy && ((entry: E) => answerBy(entry) - this.permits.leastServiceMs(entry)),
    }
    this.admission = new Gate<E>(limiter, hooks, tuning)
    this.permits = new Permits(this.admission, { ...permits, answerBy })
    this.#reclaim = reclaim ?? (nowMs => this.permits.reclaim(nowMs))
    const worked = (nowMs: number) => ({ loopMs: loopWorkedMs(), inServiceMs: this.admission.inServiceMs(nowMs) })
    this.load = new LoadMeter(worked, now())
  }

  ask(entry: E, nowMs: number): Decision {
    const { admission } = this
    if (admission.full) this.#reclaim(nowMs)
    const decision = entry.resumesUpload ? admission.offerResumed(entry, nowMs) : admission.offer(entry, nowMs)
    if (decision === 'start') this.permit(entry, nowMs)
    else if (decision === 'wait') this.#lookWhileWaiting()
    return decision
  }

  permit(entry: E, nowMs: number): void {
    this.permits.give(entry, nowMs)
    if (!entry.resumesUpload) this.admitted++
  }

  withdraw(entry: E): void {
    this.failOpen.guard(() => this.admission.withdraw(entry, now()))
  }

  /** @param memory for the reason `memory`: names the memory that was full */
  countShed(reason: ShedReason, atMs: number, memory?: string): void {
    this.load.shed(atMs)
    this.sheds.count(reason, atMs, this.admission, memory)
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#lookTimer)
  }

  stats(): GateStats {
    const { admitted, failOpen, admission, load, permits, sheds } = this
    const nowMs = now()
    if (!failOpen.isOpen) failOpen.guard(() => this.#reclaim(nowMs))
    const { inflight, queued } = admission
    const knownLimit = quietly(() => admission.knownLimit)
    return {
      inflight,
      stragglers: quietly(() => admission.uncounted) ?? 0,
      abandoned: permits.abandoned,
      queued,
      limit: quietly(() => admission.limit) ?? 0,
      admitted,
      shed: { ...sheds.counts },
      pressure: load.pressure(nowMs),
      utilisation: load.utilisation(nowMs, knownLimit),
      demand: load.demand(nowMs),
      load: load.load(nowMs, knownLimit),
      limitKnown: knownLimit !== undefined && !failOpen.isOpen,
    }
  }

  /** @param what the noun for the sentence, such as "request that was shed" */
  explain(what: string): string {
    const { admission, sheds } = this
    const limit = quietly(() => explainLimit(admission.limit, admission.limitReason)) ?? ''
    return `${explainShed(sheds.last, now(), what)} ${this.failOpen.isOpen ? '' : limit}`.trim()
  }

  /** Returns the figures for balancers; undefined while there is too little data. */
  loadFigures(nowMs: number): LoadFigures | undefined {
    const { load } = this
    const limit = quietly(() => this.admission.countedLimit)
    const rates = load.rates(nowMs, limit)
    if (rates === undefined) return undefined
    const loop = load.utilisation(nowMs, undefined)
    return { loop, utilisation: load.utilisation(nowMs, limit), demand: load.demand(nowMs), ...rates }
  }

  #wake(occasion: 'turnEnded' | 'wakeUp'): void {
    if (this.failOpen.isOpen) return
    try {
      const nowMs = now()
      if (this.admission.queued > 0) this.#reclaim(nowMs)
      this.admission[occasion](now())
    } catch (error) {
      this.failOpen.fail(error)
    }
  }

  /** Wakes the gate while work waits, because no event shows that an answer has begun to stream and needs no permit. */
  #lookWhileWaiting(): void {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined
      if (this.failOpen.isOpen || this.admission.queued === 0) return
      this.#wake('wakeUp')
      this.#lookWhileWaiting()
    }, LOOK_MS).unref()
  }
}

/** Returns a limiter with the operator's limit or, if that is undefined, one that learns its limit. */
export function limiterOf(limit: number | undefined, tuning: Partial<LimiterTuning> = {}): Limiter {
  if (limit !== undefined) return fixedLimit(limit)
  return new ConcurrencyLimiter(loopWorkedMs, { ...LIMITER_TUNING, ...tuning }, cpuMs)
}
