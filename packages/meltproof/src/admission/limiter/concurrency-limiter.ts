/**
 * The concurrency limiter. It learns from answers while the limit binds, and does not count kinds that merely wait
 * (waiting-kinds.ts). Its phases:
 *
 * - open (open.ts): nothing is known to be scarce.
 * - reference (reference.ts): the loop never rests, or requests wait for each other. Measures throughput at this limit.
 * - probe (probe.ts): measures it at lower limits until it falls.
 * - rest (rest.ts): the limit stays above that point, and is halved again from time to time.
 */
import { IdleProbe } from './idle-probe.ts'
import type { Limiter } from './limiter.ts'
import { LoopLoad } from './loop-load.ts'
import { Measurement } from './measurement.ts'
import { contendedLimit, Open } from './open.ts'
import { afterProbe, type Reference } from './probe.ts'
import { afterReference } from './reference.ts'
import { Rest } from './rest.ts'
import { type Measured, rest, type Step } from './search.ts'
import { LIMITER_TUNING, type LimiterTuning } from './tuning.ts'
import { WaitingKinds } from './waiting-kinds.ts'

/** Weight of one more answer in the mean service time. */
const ANSWER_WEIGHT = 0.1
/** Where requests were found not to wait for each other, more than this multiple of their number may. */
const REFUTED = 2

type Phase = 'open' | 'reference' | 'probe' | 'rest'

export class ConcurrencyLimiter implements Limiter {
  readonly #tuning: LimiterTuning
  readonly #busyMs: () => number
  readonly #loop: LoopLoad
  readonly #kinds: WaitingKinds
  readonly #measurement: Measurement
  readonly #idle = new IdleProbe()
  readonly #open = new Open()
  #phase: Phase = 'open'
  #limit: number
  #inService = 0
  #bound = false
  #boundSince = 0
  #unboundAt = Number.NEGATIVE_INFINITY
  #meanMs = 0

  #byLoop = false
  #contended = false
  #reference: Reference = { rate: 0, limit: 0 }
  /** The limit before lower ones were tried. */
  #before = 0
  #refutedUntil = Number.NEGATIVE_INFINITY
  #rest: Rest | undefined
  #invalidated = false
  /** When the limit changed, until the requests admitted under the last one have left. */
  #changedAt: number | undefined

  constructor(busyMs: () => number, tuning: LimiterTuning = LIMITER_TUNING) {
    this.#busyMs = busyMs
    this.#tuning = tuning
    this.#limit = tuning.initial
    this.#loop = new LoopLoad(busyMs, tuning)
    this.#kinds = new WaitingKinds(tuning)
    this.#measurement = new Measurement(tuning)
  }

  get limit(): number {
    return Math.min(this.#tuning.max, Math.floor(this.#limit) + this.uncounted)
  }

  get usualLimit(): number {
    const tests = this.#phase === 'reference' || this.#phase === 'probe'
    return tests ? Math.max(this.limit, Math.floor(this.#before) + this.uncounted) : this.limit
  }

  get uncounted(): number {
    return this.#kinds.uncounted
  }

  get phase(): Phase {
    return this.#phase
  }

  get known(): boolean {
    return this.#rest !== undefined
  }

  get searching(): boolean {
    return this.#phase === 'open' && this.#open.growing
  }

  goesOn(nowMs: number): boolean {
    return this.#loop.busy || !this.#idle.since(nowMs, this.#haltMs)
  }

  get #haltMs(): number {
    return Math.max(this.#tuning.idleMs, 2 * this.#meanMs)
  }

  get #inflight(): number {
    return this.#inService - this.uncounted
  }

  admitted(nowMs: number, kind = 0): void {
    this.#pass(nowMs)
    if (this.#inService++ === 0) this.#idle.answered(nowMs)
    this.#kinds.admitted(nowMs, kind)
    this.#growKinds(nowMs)
  }

  inService(kind: number): number {
    return this.#kinds.inService(kind)
  }

  completed(nowMs: number, serviceMs: number, kind = 0, inServiceThen = 0): void {
    this.#pass(nowMs)
    this.#inService--
    this.#idle.answered(nowMs)
    this.#loop.judge(nowMs)
    const counts = this.#kinds.counts(kind)
    this.#kinds.completed(nowMs, serviceMs, kind)
    if (!this.#loop.busy && this.#phase === 'open') {
      const share = this.#kinds.contended(nowMs, kind, inServiceThen, serviceMs)
      // A few requests that wait for each other are no reason for a limit, which would hold up a burst.
      const enough = this.#bound || 2 * this.#inflight >= this.#tuning.initial
      if (share !== undefined && enough && !this.#refuted(nowMs)) this.#searchContention(share, nowMs)
    }
    if (!counts) return
    this.#meanMs += (serviceMs - this.#meanMs) * (this.#meanMs === 0 ? 1 : ANSWER_WEIGHT)
    if (this.#phase === 'open') {
      this.#grow(nowMs, serviceMs)
      this.#searchLoop(nowMs)
    } else if (this.#settled(nowMs) && this.#measures) {
      this.#measurement.answered(serviceMs)
      if (this.#measurement.suffices) this.#learn(nowMs)
    }
  }

  dropped(nowMs: number, serviceMs?: number, kind = 0): void {
    this.#pass(nowMs)
    this.#inService--
    this.#idle.gaveUp()
    this.#kinds.left(kind, serviceMs === undefined ? undefined : nowMs - serviceMs)
  }

  gaveUp(): void {
    this.#idle.gaveUp()
  }

  limitReached(nowMs: number): void {
    this.#pass(nowMs)
    this.#bound = true
    this.#boundSince = nowMs
    // What was learned may belong to other traffic.
    if (this.#phase !== 'open' && nowMs - this.#unboundAt > this.#tuning.forgetMs) this.#forgetLimit()
    this.#open.growing = true
    this.#loop.judge(nowMs)
  }

  limitCleared(nowMs: number): void {
    this.#pass(nowMs)
    this.#bound = false
    this.#unboundAt = nowMs
  }

  tick(nowMs: number): void {
    this.#loop.judge(nowMs)
    this.#growKinds(nowMs)
    if (this.#phase === 'open') this.#searchLoop(nowMs)
    else this.#settled(nowMs)
    if (this.#bound && !this.#loop.busy) this.#lookWhetherIdle(nowMs)
  }

  invalidated(nowMs: number): void {
    // Once, or a loop that always stalls would never be measured.
    if (this.#phase !== 'open' && !this.#invalidated) this.#measureFrom(nowMs)
    this.#invalidated = true
  }

  #lookWhetherIdle(nowMs: number): void {
    const { initial } = this.#tuning
    const found = this.#idle.look(nowMs, this.#haltMs)
    // Under this limit every request takes longer than its client waits.
    if (found === 'given up') this.#limit = Math.max(Math.min(initial, this.#limit), Math.floor(this.#limit / 2))
    // Slow requests hold all permits of the lower limit.
    if (found === 'idle' && this.#phase === 'probe') this.#giveUpProbe(nowMs)
  }

  #forgetLimit(): void {
    this.#phase = 'open'
    this.#rest = undefined
    this.#changedAt = undefined
    this.#kinds.forget()
  }

  #grow(nowMs: number, serviceMs: number): void {
    if (this.#loop.busy || this.#limit >= this.#tuning.max || this.#idle.wasHeld(nowMs - serviceMs)) return
    this.#limit = this.#open.grown(this.#limit, this.#inflight, serviceMs, this.#meanMs, nowMs)
  }

  #growKinds(nowMs: number): void {
    const grew = this.#kinds.grow(nowMs, this.#bound ? this.#boundSince : nowMs, !this.#loop.busy)
    this.#open.judge(nowMs, grew, this.#tuning.idleMs)
  }

  /** Not long ago, as many in service were found not to wait for each other. */
  #refuted(nowMs: number): boolean {
    return nowMs < this.#refutedUntil && this.#inflight <= REFUTED * this.#before
  }

  /** `share`: where requests of a kind begin to wait for each other, as a share of those in service. */
  #searchContention(share: number, nowMs: number): void {
    this.#byLoop = false
    this.#contended = true
    this.#search(contendedLimit(this.#inflight, share), nowMs)
  }

  #searchLoop(nowMs: number): void {
    if (!this.#loop.scarce || !this.#bound) return
    this.#byLoop = true
    this.#contended = false
    this.#search(Math.min(this.#limit, Math.max(this.#inflight, this.#tuning.initial)), nowMs)
  }

  #search(limit: number, nowMs: number): void {
    this.#phase = 'reference'
    if (!this.#bound) this.#unboundAt = nowMs
    this.#limit = Math.max(1, Math.floor(limit))
    this.#reference = { rate: 0, limit: Math.max(this.#limit, this.#inflight / 2) }
    this.#before = Math.max(this.#inflight, limit)
    this.#changedAt = undefined
    this.#measureFrom(nowMs)
  }

  #learn(nowMs: number): void {
    const { busy } = this.#measurement
    // During a probe the loop may rest because of the lower limit.
    if (this.#phase !== 'probe') this.#byLoop = busy >= this.#tuning.loopBusy
    const rate = this.#byLoop ? this.#measurement.rateByWork : this.#measurement.rate
    this.#invalidated = false
    this.#measureFrom(nowMs)
    const step = this.#stepAfter({ limit: this.#limit, rate, busy, byLoop: this.#byLoop }, nowMs)
    if (step !== undefined) this.#take(step, nowMs)
  }

  #stepAfter(measured: Measured, nowMs: number): Step | undefined {
    if (this.#phase === 'probe') return afterProbe(measured, this.#reference, this.#contended, this.#tuning)
    if (this.#phase === 'reference') {
      this.#reference.rate = measured.rate
      return afterReference(measured, this.#contended, this.#tuning)
    }
    const step = this.#rest!.measured(measured, nowMs)
    if (step?.to === 'probe') {
      this.#reference = { rate: this.#rest!.rate, limit: this.#limit }
      this.#before = this.#limit
    }
    return step
  }

  #take(step: Step, nowMs: number): void {
    if (step.to === 'open') {
      this.#limit = this.#before
      if (this.#contended) this.#refutedUntil = nowMs + this.#tuning.lookEveryMs
      this.#forgetLimit()
      return
    }
    this.#phase = step.to
    this.#limit = Math.min(this.#tuning.max, step.limit)
    this.#changedAt = nowMs
    if (step.to === 'probe') return
    this.#contended = false
    this.#rest = new Rest(nowMs, this.#tuning)
  }

  #giveUpProbe(nowMs: number): void {
    this.#take(rest(this.#reference.limit), nowMs)
  }

  #settled(nowMs: number): boolean {
    if (this.#changedAt === undefined) return true
    const sinceMs = nowMs - this.#changedAt
    const { maxWindowMs } = this.#tuning
    if (this.#inflight > this.#limit) {
      // A probe that admits no request for this long costs more than it can teach.
      if (this.#phase === 'probe' && !this.#contended && sinceMs > maxWindowMs) this.#giveUpProbe(nowMs)
      return false
    }
    if (sinceMs < Math.min(this.#meanMs, maxWindowMs)) return false
    this.#changedAt = undefined
    this.#measureFrom(nowMs)
    return true
  }

  get #measures(): boolean {
    return this.#bound || this.#phase === 'reference'
  }

  #pass(nowMs: number): void {
    if (this.#phase !== 'open') this.#measurement.pass(nowMs, this.#busyMs(), this.#measures)
  }

  #measureFrom(nowMs: number): void {
    this.#pass(nowMs)
    this.#measurement.begin()
  }
}
