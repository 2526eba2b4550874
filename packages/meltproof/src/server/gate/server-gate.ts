/**
 * The gate of one server: a {@link ProcessGate}, and the properties of a request that it needs (level, kind, client,
 * deadline). Exempt requests bypass that gate. Under overload, plain GETs are shed once their heads are parsed.
 */
import type { Socket } from 'node:net'
import type { Decision } from '../../admission/gate.ts'
import { Streams } from '../../admission/in-service/streams.ts'
import type { ShedReason } from '../../admission/sheds.ts'
import { requestsAreObserved } from '../../channels.ts'
import { now } from '../../clock.ts'
import { ProcessGate, type ProcessGateParts } from '../../process-gate.ts'
import { watchReachable } from '../in-service/reachable-requests.ts'
import { InServiceChecks, type InServiceChecksParts } from '../in-service/in-service-checks.ts'
import { isFinished } from '../in-service/streaming-responses.ts'
import type { Exchange } from '../request/exchange.ts'
import type { RequestPolicy } from '../request/policy.ts'
import { mayBringBody } from '../request/request-head.ts'
import { requestObserver } from '../response/observer.ts'
import { RequestKinds } from './request-kinds.ts'

type Passed = 'limiter' | 'tuning' | 'failOpen' | 'start' | 'shed'

export interface ServerGateParts
  extends Pick<ProcessGateParts<Exchange>, Passed>,
    Pick<InServiceChecksParts, 'onUploadPaused' | 'onGone'> {
  readonly policy: RequestPolicy
  /** How long the caller waits for the answer, ms after the arrival; absent when requests have no deadline. */
  readonly answerMs: ((request: Exchange['request']) => number) | undefined
}

export class ServerGate {
  exempt = 0
  /** When a connection or a request last arrived, or a request ended, ms. */
  activeAt: number = Number.NEGATIVE_INFINITY
  readonly processGate: ProcessGate<Exchange>
  readonly checks: InServiceChecks
  readonly #parts: ServerGateParts
  readonly #kinds = new RequestKinds()
  #headKind: number | undefined
  #headClient: number | undefined

  constructor(parts: ServerGateParts) {
    const { answerMs, failOpen, policy } = parts
    const { level, clients } = policy
    const streams = new Streams()
    this.#parts = parts
    this.processGate = new ProcessGate<Exchange>({
      ...parts,
      level: level && (exchange => level(exchange.request)),
      kind: exchange => this.#kinds.ofWaiting(exchange),
      client: clients && (exchange => (exchange.client ??= clients.of(exchange.request))),
      answerBy: answerMs && (exchange => exchange.answerBy),
      permits: {
        streams,
        isFinished: ({ response }) => isFinished(response!),
        kindOf: exchange => this.#kinds.inService(exchange),
        onOrphaned: watchReachable(orphan => failOpen.guard(() => this.processGate.permits.collected(orphan, now()))),
        onAnswered: (exchange, nowMs) => {
          const { admission, load } = this.processGate
          this.#kinds.answered(exchange, nowMs, admission.standing)
          if ((exchange.response?.statusCode ?? 0) >= 500) load.failed()
        },
      },
      reclaim: nowMs => this.checks.run(nowMs),
    })
    this.checks = new InServiceChecks({ ...parts, permits: this.processGate.permits, streams })
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
    this.processGate.load.offered(nowMs)
    if (answerMs !== undefined) exchange.answerBy = exchange.arrivedAt + answerMs(request)
    // The operator's `kind` is called before the gate decides, and before the handler, which may change the request.
    const name = policy.kindName?.(request)
    if (name !== undefined) exchange.kindKey = this.#kinds.known.keyOf(name)
    const isShort = policy.memory?.refuses(mayBringBody(request), nowMs)
    const decision = isShort ? 'memory' : this.processGate.ask(exchange, nowMs)
    if (decision === 'wait') this.processGate.load.waited()
    // The time that the request waited in its socket during a stall can be measured only now.
    if (requestsAreObserved() && (decision === 'start' || decision === 'wait')) {
      const sinceMs = exchange.connection?.answeredAtMs ?? Number.NEGATIVE_INFINITY
      exchange.lateMs = requestObserver()?.latenessNow(nowMs, sinceMs) ?? 0
    }
    return decision
  }

  /** True if a request that has waited must be shed, because memory has filled up since it arrived. */
  memoryRefuses({ request, ungated }: Exchange): boolean {
    const { memory } = this.#parts.policy
    return !ungated && memory?.mayRefuse === true && memory.refuses(mayBringBody(request), now())
  }

  get admitsAll(): boolean {
    return this.processGate.admission.admitsAll && this.#parts.policy.memory?.mayRefuse !== true
  }

  /** The reason to shed a plain GET; then call {@link countRefused}. Undefined if the gate needs a request object. */
  refuses(socket: Socket, rawHeaders: readonly string[], url: string, nowMs: number): ShedReason | undefined {
    const { dryRun, exemptRequest, exemptUrl, kindName, memory, clients } = this.#parts.policy
    if (dryRun || exemptRequest !== undefined || exemptUrl?.(url)) return undefined
    const { admission, permits } = this.processGate
    // While the event loop has spare time, a request object is cheap.
    const isShort = memory?.refuses(false, nowMs)
    if (admission.loopHasRoom && isShort !== true) return undefined
    // Finding a kind costs time, and matters only while requests wait. The operator's `kind` needs a request object,
    // which does not exist yet. Without a kind nothing is shed here for overload: the gate decides once Node has
    // created the request.
    const kind = admission.queued > 0 && kindName === undefined ? this.#kinds.known.of(url) : undefined
    if (isShort !== true && kind !== undefined && admission.mayStartAboveLimit(kind, nowMs)) {
      // Requests of a kind known to be quick may exceed the limit: the gate decides.
      if (permits.isQuick(this.#kinds.lastInService('GET'))) return undefined
    }
    this.#headKind = kind
    this.#headClient = kind === undefined ? undefined : clients?.ofHead?.(socket.remoteAddress, rawHeaders)
    return isShort ? 'memory' : admission.refuses(nowMs, kind, this.#headClient)
  }

  countRefused(nowMs: number): void {
    if (this.#headKind !== undefined) {
      this.#kinds.known.arrived(this.#headKind, nowMs)
      this.processGate.admission.countArrival(nowMs, this.#headKind, this.#headClient)
    }
    this.activeAt = nowMs
    this.processGate.load.offered(nowMs)
  }
}
