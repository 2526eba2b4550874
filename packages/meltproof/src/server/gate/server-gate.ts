/**
 * The gate of one server: tells the pure gate (admission/gate.ts) what it asks about a request, gives it the loop's clock
 * and timers, and turns its yes into a permit. Knows what the operator says about single requests; knows nothing of
 * where requests wait and how they are answered.
 */
import { type Decision, Gate, type GateTuning } from '../../admission/gate.ts'
import type { Limiter } from '../../admission/limiter.ts'
import { PressureMeter } from '../../admission/pressure.ts'
import type { ShedReason } from '../../admission/shed-reason.ts'
import { requestsAreObserved } from '../../channels.ts'
import { now } from '../../clock.ts'
import { loopTurn } from '../../signals/loop-turn.ts'
import { latenessNow } from '../../timing/tracker.ts'
import type { Connection } from '../connection/connection.ts'
import type { FailOpen } from '../fail-open.ts'
import { LOOK_MS, Permits } from '../permit/permits.ts'
import type { Exchange } from '../request/exchange.ts'
import type { RequestPolicy } from '../request/policy.ts'
import { RequestKinds } from './request-kinds.ts'

export interface ServerGateHooks {
  /** A request that waited may start. */
  readonly start: (exchange: Exchange) => void
  /** A request that waited is shed. */
  readonly shed: (exchange: Exchange, reason: ShedReason) => void
  /** An upload is about to lose its permit because its client is slow. */
  readonly onUploadPaused: (exchange: Exchange) => void
  /** A request is over, and nobody else will tell. */
  readonly onGone: (exchange: Exchange) => void
  /** For how long after its arrival somebody waits for the answer of a request, ms; absent where nobody has a deadline. */
  readonly answerMs: ((request: Exchange['request']) => number) | undefined
}

export class ServerGate {
  admitted = 0
  /** Started without asking, because the operator says so. */
  exempt = 0
  /** When a connection or a request last came, or a request ended. */
  activeAt: number = Number.NEGATIVE_INFINITY
  readonly pressure: PressureMeter = new PressureMeter()
  readonly permits: Permits
  readonly #gate: Gate<Exchange>
  readonly #kinds = new RequestKinds()
  readonly #policy: RequestPolicy
  readonly #hooks: ServerGateHooks
  readonly #failOpen: FailOpen
  #headKind: number | undefined
  #headClient: number | undefined
  #timer: NodeJS.Timeout | undefined
  #lookTimer: NodeJS.Timeout | undefined

  constructor(limiter: Limiter, tuning: GateTuning, policy: RequestPolicy, failOpen: FailOpen, hooks: ServerGateHooks) {
    this.#policy = policy
    this.#failOpen = failOpen
    this.#hooks = hooks
    const { level, clients } = policy
    const kinds = this.#kinds
    const turnEnded = (): void => this.#wake('turnEnded')
    const timeCame = (): void => this.#wake('timeCame')
    this.#gate = new Gate<Exchange>(
      limiter,
      {
        now,
        turn: loopTurn,
        start: hooks.start,
        shed: hooks.shed,
        wakeAtTurnEnd: () => setImmediate(turnEnded),
        wakeAfter: ms => {
          clearTimeout(this.#timer)
          this.#timer = setTimeout(timeCame, ms)
          this.#timer.unref()
        },
        level: level && (exchange => level(exchange.request)),
        kind: exchange => kinds.ofWaiting(exchange),
        kindInService: exchange => kinds.inService(exchange),
        client: clients && (exchange => (exchange.client ??= clients.of(exchange.request))),
        startBy:
          hooks.answerMs && (exchange => exchange.answerBy - this.permits.leastServiceMs(kinds.inService(exchange))),
      },
      tuning,
    )
    this.permits = new Permits(this.#gate, tuning, {
      onRecorded: (exchange, nowMs) => kinds.answered(exchange, nowMs, this.#gate.standing),
      onUploadPaused: hooks.onUploadPaused,
      onGone: hooks.onGone,
      loopBusyMs: policy.loopBusyMs,
    })
  }

  get inflight(): number {
    return this.#gate.inflight
  }

  get queued(): number {
    return this.#gate.queued
  }

  get limit(): number {
    return this.#gate.limit
  }

  /** A request arrived. With `start` it has its permit, or needs none. */
  decide(exchange: Exchange, nowMs: number): Decision {
    this.activeAt = nowMs
    if (this.#isExempt(exchange)) {
      exchange.ungated = true
      this.exempt++
      return 'start'
    }
    this.pressure.offered(nowMs)
    const { answerMs } = this.#hooks
    if (answerMs !== undefined) exchange.answerBy = exchange.arrivedAt + answerMs(exchange.request)
    const decision = this.#policy.memoryShort?.() ? 'memory' : this.#ask(exchange, nowMs)
    if (decision === 'start') this.permit(exchange, nowMs)
    else if (decision === 'wait') this.pressure.waited()
    // Sat in its socket while the loop was stalled? Only now can that be seen.
    if (requestsAreObserved() && (decision === 'start' || decision === 'wait')) {
      exchange.lateMs = latenessNow(nowMs, exchange.connection?.answeredAtMs ?? Number.NEGATIVE_INFINITY)
    }
    return decision
  }

  /** A request that is at work already asks for a permit again. */
  decideAgain(exchange: Exchange): Decision {
    const decision = this.#ask(exchange, exchange.arrivedAt)
    if (decision === 'start') this.permit(exchange, exchange.arrivedAt)
    return decision
  }

  #ask(exchange: Exchange, nowMs: number): Decision {
    if (this.#gate.full) this.permits.makeRoom(nowMs)
    const decision = exchange.again ? this.#gate.offerAgain(exchange, nowMs) : this.#gate.offer(exchange, nowMs)
    if (decision === 'wait') this.#lookWhileWaiting()
    return decision
  }

  #isExempt({ request }: Exchange): boolean {
    const { exemptUrl, exemptRequest } = this.#policy
    return exemptUrl?.(request.url ?? '') === true || exemptRequest?.(request) === true
  }

  /** The gate has let it in. */
  permit(exchange: Exchange, nowMs: number): void {
    this.permits.give(exchange, nowMs)
    if (!exchange.again) this.admitted++
  }

  /** The gate has let it in, and there is nobody left to serve. */
  drop(exchange: Exchange): void {
    this.#gate.drop(now(), 0, exchange)
  }

  /** Its client has gone while it waited, or nobody is asked any more. */
  abandon(exchange: Exchange): void {
    try {
      this.#gate.abandon(exchange, now())
    } catch (error) {
      this.#failOpen.fail(error)
    }
  }

  /** Asked for every request of a server that has time for all of them: no head is {@link refuses refused}. */
  get refusesNobody(): boolean {
    return this.#gate.refusesNobody && this.#policy.memoryShort?.() !== true
  }

  /**
   * The reason to turn a plain request away at its head, before a request is made of it; undefined where the request itself
   * decides. Then {@link refused} is called, or the request is made and decided on.
   */
  refuses({ socket }: Connection, rawHeaders: readonly string[], url: string, nowMs: number): ShedReason | undefined {
    const { dryRun, exemptRequest, exemptUrl, memoryShort, clients } = this.#policy
    if (dryRun || exemptRequest !== undefined || exemptUrl?.(url)) return undefined
    // Kinds matter, and cost, only while somebody waits.
    const kind = this.#gate.queued > 0 ? this.#kinds.ofHead(url) : undefined
    this.#headKind = kind
    this.#headClient = kind === undefined ? undefined : clients?.ofHead?.(socket.remoteAddress, rawHeaders)
    return memoryShort?.() ? 'memory' : this.#gate.refuses(nowMs, kind, this.#headClient)
  }

  /** The head that {@link refuses} was asked about last is turned away. */
  refused(nowMs: number): void {
    if (this.#headKind !== undefined) {
      this.#kinds.cameAsHead(this.#headKind, nowMs)
      this.#gate.refused(nowMs, this.#headKind, this.#headClient)
    }
    this.activeAt = nowMs
    this.pressure.offered(nowMs)
  }

  /** Sheds every request that waits, and every one that comes, exempt ones aside. */
  close(): void {
    this.#gate.close()
  }

  /** No timer runs any more. */
  stop(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#lookTimer)
  }

  #wake(occasion: 'turnEnded' | 'timeCame'): void {
    if (this.#failOpen.isOpen) return
    try {
      const nowMs = now()
      if (this.#gate.queued > 0) this.permits.makeRoom(nowMs)
      this.#gate[occasion](now())
    } catch (error) {
      this.#failOpen.fail(error)
    }
  }

  /** Looks for permits that are not needed while the loop rests: nothing tells of an answer that begins to stream. */
  #lookWhileWaiting(): void {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined
      if (this.#failOpen.isOpen || this.#gate.queued === 0) return
      this.#wake('timeCame')
      this.#lookWhileWaiting()
    }, LOOK_MS).unref()
  }
}
