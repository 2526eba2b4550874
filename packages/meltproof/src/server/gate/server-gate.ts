/**
 * The gate of one server: a gate of the process, and the answers to its questions about a request. Those that are exempt
 * pass it, and under overload it refuses plain ones at their heads.
 */
import type { Decision, GateTuning } from '../../admission/gate.ts'
import { Streams } from '../../admission/in-service/streams.ts'
import type { Limiter } from '../../admission/limiter/limiter.ts'
import type { ShedReason } from '../../admission/shed-reason.ts'
import { requestsAreObserved } from '../../channels.ts'
import { now } from '../../clock.ts'
import type { FailOpen } from '../../fail-open.ts'
import { ProcessGate } from '../../process-gate.ts'
import type { Connection } from '../connection/connection.ts'
import { ReachableRequests } from '../permit/reachable-requests.ts'
import { Reclaim } from '../permit/reclaim.ts'
import { isFinished } from '../permit/streaming-responses.ts'
import type { Exchange } from '../request/exchange.ts'
import type { RequestPolicy } from '../request/policy.ts'
import { mayBringBody } from '../request/request-head.ts'
import { latenessNow } from '../response/observer.ts'
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
  exempt = 0
  activeAt: number = Number.NEGATIVE_INFINITY
  /** What waits for a permit, and has one. */
  readonly process: ProcessGate<Exchange>
  readonly reclaim: Reclaim
  readonly #parts: ServerGateParts
  readonly #kinds = new RequestKinds()
  #headKind: number | undefined
  #headClient: number | undefined

  constructor(parts: ServerGateParts) {
    const { answerMs, failOpen, limiter, onGone, onUploadPaused, policy, shed, start, tuning } = parts
    const { level, clients } = policy
    const streams = new Streams()
    const reachable = new ReachableRequests(orphan =>
      failOpen.guard(() => this.process.permits.collected(orphan, now())),
    )
    this.#parts = parts
    this.process = new ProcessGate({
      limiter,
      tuning,
      failOpen,
      start,
      shed,
      level: level && (exchange => level(exchange.request)),
      kind: exchange => this.#kinds.ofWaiting(exchange),
      client: clients && (exchange => (exchange.client ??= clients.of(exchange.request))),
      answerBy: answerMs && (exchange => exchange.answerBy),
      permits: {
        streams,
        isFinished: ({ response }) => isFinished(response!),
        kindOf: exchange => this.#kinds.inService(exchange),
        onOrphaned: (exchange, orphan) => reachable.watch(exchange, orphan),
        onRecorded: (exchange, nowMs) => this.#recorded(exchange, nowMs),
      },
      reclaim: nowMs => this.reclaim.reclaim(nowMs),
    })
    this.reclaim = new Reclaim({ permits: this.process.permits, streams, onUploadPaused, onGone })
  }

  #recorded(exchange: Exchange, nowMs: number): void {
    const { inner, load } = this.process
    this.#kinds.answered(exchange, nowMs, inner.standing)
    if ((exchange.response?.statusCode ?? 0) >= 500) load.failed()
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
    this.process.load.offered(nowMs)
    if (answerMs !== undefined) exchange.answerBy = exchange.arrivedAt + answerMs(request)
    const isShort = policy.memory?.refuses(mayBringBody(request), nowMs)
    const decision = isShort ? 'memory' : this.#askWithName(exchange, nowMs)
    if (decision === 'wait') this.process.load.waited()
    // Sat in its socket while the loop was stalled? Only now can that be seen.
    if (requestsAreObserved() && (decision === 'start' || decision === 'wait')) {
      exchange.lateMs = latenessNow(nowMs, exchange.connection?.answeredAtMs ?? Number.NEGATIVE_INFINITY)
    }
    return decision
  }

  /** Memory may have been filled while it waited. */
  memoryRefuses({ request, ungated }: Exchange): boolean {
    const { memory } = this.#parts.policy
    return !ungated && memory?.mayRefuse === true && memory.refuses(mayBringBody(request), now())
  }

  /**
   * The operator's function is called before the gate begins to decide, and before the handler, which may change the
   * request.
   */
  #askWithName(exchange: Exchange, nowMs: number): Decision {
    const { kindName } = this.#parts.policy
    if (kindName !== undefined) this.#kinds.name(exchange, kindName(exchange.request))
    return this.process.ask(exchange, nowMs)
  }

  get refusesNobody(): boolean {
    return this.process.inner.refusesNobody && this.#parts.policy.memory?.mayRefuse !== true
  }

  /** The reason to turn a plain request away at its head, before a request is made of it; undefined: make it, and ask. */
  refuses(
    { socket }: Connection<Exchange>,
    rawHeaders: readonly string[],
    url: string,
    nowMs: number,
  ): ShedReason | undefined {
    const { dryRun, exemptRequest, exemptUrl, kindName, memory, clients } = this.#parts.policy
    if (dryRun || exemptRequest !== undefined || exemptUrl?.(url)) return undefined
    const { inner } = this.process
    // While the loop has room a request object costs little, and what is known to be quick is not shed.
    const isShort = memory?.refuses(false, nowMs)
    if (inner.loopHasRoom && isShort !== true) return undefined
    // Kinds matter, and cost, only while somebody waits. The operator's `kind` takes a whole request, which an object made
    // here could only imitate. Without a kind the gate sheds nothing for overload here, and decides when Node has made
    // the request.
    const kind = inner.queued > 0 && kindName === undefined ? this.#kinds.known.of(url) : undefined
    this.#headKind = kind
    this.#headClient = kind === undefined ? undefined : clients?.ofHead?.(socket.remoteAddress, rawHeaders)
    return isShort ? 'memory' : inner.refuses(nowMs, kind, this.#headClient)
  }

  refused(nowMs: number): void {
    if (this.#headKind !== undefined) {
      this.#kinds.known.came(this.#headKind, nowMs)
      this.process.inner.refused(nowMs, this.#headKind, this.#headClient)
    }
    this.activeAt = nowMs
    this.process.load.offered(nowMs)
  }

  hold(): void {
    this.process.inner.hold()
  }

  resume(): void {
    this.process.inner.resume()
  }
}
