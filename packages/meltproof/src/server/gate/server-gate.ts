/**
 * The gate of one server: answers the pure gate's questions about a request (admission/gate.ts) and gives out permits.
 */
import { type Decision, Gate, type GateTuning } from '../../admission/gate.ts'
import type { Limiter } from '../../admission/limiter/limiter.ts'
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

export interface ServerGateParts {
  readonly limiter: Limiter
  readonly tuning: GateTuning
  readonly policy: RequestPolicy
  readonly failOpen: FailOpen
  readonly start: (exchange: Exchange) => void
  readonly shed: (exchange: Exchange, reason: ShedReason) => void
  readonly onUploadPaused: (exchange: Exchange) => void
  readonly onGone: (exchange: Exchange) => void
  /** How long after its arrival the answer of a request is waited for, ms; absent where nobody has a deadline. */
  readonly answerMs: ((request: Exchange['request']) => number) | undefined
}

export class ServerGate {
  admitted = 0
  exempt = 0
  activeAt: number = Number.NEGATIVE_INFINITY
  readonly failOpen: FailOpen
  readonly pressure: PressureMeter = new PressureMeter()
  readonly permits: Permits
  readonly #parts: ServerGateParts
  readonly #gate: Gate<Exchange>
  readonly #kinds = new RequestKinds()
  #headKind: number | undefined
  #headClient: number | undefined
  #timer: NodeJS.Timeout | undefined
  #lookTimer: NodeJS.Timeout | undefined

  constructor(parts: ServerGateParts) {
    this.#parts = parts
    this.failOpen = parts.failOpen
    const { answerMs, policy, tuning } = parts
    const { level, clients } = policy
    const kinds = this.#kinds
    const turnEnded = (): void => this.#wake('turnEnded')
    const timeCame = (): void => this.#wake('timeCame')
    const hooks = {
      now,
      turn: loopTurn,
      start: parts.start,
      shed: parts.shed,
      wakeAtTurnEnd: () => void setImmediate(turnEnded),
      wakeAfter: (ms: number) => {
        clearTimeout(this.#timer)
        this.#timer = setTimeout(timeCame, ms).unref()
      },
      level: level && ((exchange: Exchange) => level(exchange.request)),
      kind: (exchange: Exchange) => kinds.ofWaiting(exchange),
      kindInService: (exchange: Exchange) => kinds.inService(exchange),
      client: clients && ((exchange: Exchange) => (exchange.client ??= clients.of(exchange.request))),
      startBy:
        answerMs &&
        ((exchange: Exchange) => exchange.answerBy - this.permits.leastServiceMs(kinds.inService(exchange))),
    }
    this.#gate = new Gate<Exchange>(parts.limiter, hooks, tuning)
    this.permits = new Permits(this.#gate, tuning, {
      onRecorded: (exchange, nowMs) => kinds.answered(exchange, nowMs, this.#gate.standing),
      onUploadPaused: parts.onUploadPaused,
      onGone: parts.onGone,
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

  decide(exchange: Exchange, nowMs: number): Decision {
    const { answerMs, policy } = this.#parts
    const { request } = exchange
    this.activeAt = nowMs
    if (policy.exemptUrl?.(request.url ?? '') || policy.exemptRequest?.(request)) {
      exchange.ungated = true
      this.exempt++
      return 'start'
    }
    this.pressure.offered(nowMs)
    if (answerMs !== undefined) exchange.answerBy = exchange.arrivedAt + answerMs(request)
    const decision = policy.memoryShort?.() ? 'memory' : this.ask(exchange, nowMs)
    if (decision === 'wait') this.pressure.waited()
    // Sat in its socket while the loop was stalled? Only now can that be seen.
    if (requestsAreObserved() && (decision === 'start' || decision === 'wait')) {
      exchange.lateMs = latenessNow(nowMs, exchange.connection?.answeredAtMs ?? Number.NEGATIVE_INFINITY)
    }
    return decision
  }

  ask(exchange: Exchange, nowMs: number): Decision {
    if (this.#gate.full) this.permits.makeRoom(nowMs)
    const decision = exchange.again ? this.#gate.offerAgain(exchange, nowMs) : this.#gate.offer(exchange, nowMs)
    if (decision === 'start') this.permit(exchange, nowMs)
    else if (decision === 'wait') this.#lookWhileWaiting()
    return decision
  }

  permit(exchange: Exchange, nowMs: number): void {
    this.permits.give(exchange, nowMs)
    if (!exchange.again) this.admitted++
  }

  drop(exchange: Exchange): void {
    this.#gate.drop(now(), 0, exchange)
  }

  abandon(exchange: Exchange): void {
    try {
      this.#gate.abandon(exchange, now())
    } catch (error) {
      this.failOpen.fail(error)
    }
  }

  get refusesNobody(): boolean {
    return this.#gate.refusesNobody && this.#parts.policy.memoryShort?.() !== true
  }

  /** The reason to turn a plain request away at its head, before a request is made of it; undefined: make it, and ask. */
  refuses(
    { socket }: Connection<Exchange>,
    rawHeaders: readonly string[],
    url: string,
    nowMs: number,
  ): ShedReason | undefined {
    const { dryRun, exemptRequest, exemptUrl, memoryShort, clients } = this.#parts.policy
    if (dryRun || exemptRequest !== undefined || exemptUrl?.(url)) return undefined
    // Kinds matter, and cost, only while somebody waits.
    const kind = this.#gate.queued > 0 ? this.#kinds.known.of(url) : undefined
    this.#headKind = kind
    this.#headClient = kind === undefined ? undefined : clients?.ofHead?.(socket.remoteAddress, rawHeaders)
    return memoryShort?.() ? 'memory' : this.#gate.refuses(nowMs, kind, this.#headClient)
  }

  refused(nowMs: number): void {
    if (this.#headKind !== undefined) {
      this.#kinds.known.came(this.#headKind, nowMs)
      this.#gate.refused(nowMs, this.#headKind, this.#headClient)
    }
    this.activeAt = nowMs
    this.pressure.offered(nowMs)
  }

  close(): void {
    this.#gate.close()
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#lookTimer)
  }

  #wake(occasion: 'turnEnded' | 'timeCame'): void {
    if (this.failOpen.isOpen) return
    try {
      const nowMs = now()
      if (this.#gate.queued > 0) this.permits.makeRoom(nowMs)
      this.#gate[occasion](now())
    } catch (error) {
      this.failOpen.fail(error)
    }
  }

  /** Looks for permits that are not needed while the loop rests: nothing tells of an answer that begins to stream. */
  #lookWhileWaiting(): void {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined
      if (this.failOpen.isOpen || this.#gate.queued === 0) return
      this.#wake('timeCame')
      this.#lookWhileWaiting()
    }, LOOK_MS).unref()
  }
}
