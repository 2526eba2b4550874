/**
 * Checks requests in service while others wait, and takes back the permits of those that wait for their client or for
 * events. A permit lasts while its handler works, even after the client has left.
 */
import type { ServerResponse } from 'node:http'
import type { Permits } from '../../admission/in-service/permits.ts'
import type { Look, Stream, Streams } from '../../admission/in-service/streams.ts'
import { requestsAreObserved } from '../../channels.ts'
import { now } from '../../clock.ts'
import { onHandlerEnd } from '../../request-notes.ts'
import type { Scope } from '../../record.ts'
import type { Exchange } from '../request/exchange.ts'
import { announced, hasEnded, isStreaming, probeOf, waitsForBody } from './streaming-responses.ts'

/** Checks take at most this share of the time, unless that would mean fewer than one check per LOOK_MAX_MS. */
const LOOK_SHARE = 0.02
const LOOK_MAX_MS = 50
/** A handler that has waited for the request's body for this long, ms, is treated as waiting for its client. */
const UPLOAD_AFTER_MS = 20

/** Each check covers at most this many streams without permits, round robin, so that thousands do not cost more. */
const LOOKED_AT = 50

export interface InServiceChecksParts {
  readonly permits: Permits<Exchange>
  readonly streams: Streams
  readonly onUploadPaused: (exchange: Exchange) => void
  readonly onGone: (exchange: Exchange) => void
}

export class InServiceChecks {
  readonly #parts: InServiceChecksParts
  #lookAgainAt = 0

  constructor(parts: InServiceChecksParts) {
    this.#parts = parts
  }

  run(nowMs: number): void {
    if (nowMs < this.#lookAgainAt) return
    const { permits } = this.#parts
    permits.reclaim(nowMs)
    this.#takeBack(nowMs)
    for (const exchange of permits.inService) this.#look(exchange, nowMs)
    const tookMs = now() - nowMs
    this.#lookAgainAt = nowMs + Math.min(LOOK_MAX_MS, Math.max(1, tookMs / LOOK_SHARE))
  }

  /** Gives a permit again to each stream that lent its permit and works again. */
  #takeBack(nowMs: number): void {
    const { permits, streams } = this.#parts
    streams.acceptDoubts(nowMs)
    let left = LOOKED_AT
    for (const exchange of permits.lent) {
      const stream = exchange.stream!
      if (left-- === 0 || stream.lookedAt === nowMs) break
      stream.look(nowMs)
      permits.lent.delete(exchange)
      if (stream.worksAgain) {
        stream.restartHold()
        permits.takeBack(exchange, nowMs)
      } else permits.lent.add(exchange)
    }
  }

  #look(exchange: Exchange, nowMs: number): void {
    const { onGone, onUploadPaused, permits } = this.#parts
    const { request, response, startedAt } = exchange
    if (endedUnseen(exchange)) onGone(exchange)
    else if (isStreaming(exchange)) this.#lookAtStream(exchange, nowMs)
    else if (response?.headersSent !== true && nowMs - startedAt >= UPLOAD_AFTER_MS && waitsForBody(request)) {
      onUploadPaused(exchange)
      permits.drop(exchange, nowMs)
    }
  }

  #lookAtStream(exchange: Exchange, nowMs: number): void {
    const { permits, streams } = this.#parts
    const response = exchange.response!
    if (hasEnded(response)) {
      permits.answered(exchange, nowMs)
      return
    }
    exchange.stream ??= this.#streamOf(exchange, response, nowMs)
    const { stream } = exchange
    if (stream.habit !== 'feed') stream.look(nowMs)
    const gives = streams.givesBack(stream, permits.mayDoubt)
    if (gives === 'for good') permits.answered(exchange, nowMs)
    else if (gives === 'for now') {
      permits.lend(exchange, nowMs)
      stream.rests()
    }
  }

  #streamOf({ serviceBucket, request }: Exchange, response: ServerResponse, nowMs: number): Stream {
    let probe: (() => Look) | undefined
    const look = (): Look => {
      probe ??= probeOf(request, response)
      return probe()
    }
    return this.#parts.streams.begun(serviceBucket, announced(response), look, nowMs)
  }

  /** Checks a response that began in the handler's first turn: with thousands of them, the next check is too late. */
  begun(exchange: Exchange, nowMs: number): void {
    if (isStreaming(exchange) && !hasEnded(exchange.response!)) this.#lookAtStream(exchange, nowMs)
  }

  /**
   * The client has left. Its request keeps its permit until the handler ends the response, an adapter reports the
   * handler's end (both call `onEnd`), or nothing references the request. While requests are recorded, an outbound call
   * of the handler shows that it still works.
   */
  orphan(exchange: Exchange, nowMs: number, scope: Scope | undefined, onEnd: () => void): void {
    const { permits } = this.#parts
    const { request, response } = exchange
    const isDoubted = permits.isDoubted(exchange)
    if (!isDoubted && exchange.shadowMs === undefined && !exchange.inService) return
    if (!isDoubted && this.#isFeed(exchange)) {
      permits.drop(exchange, nowMs)
      return
    }
    const isAtWork = scope && ((): boolean => (scope.openCalls?.size ?? 0) > 0 && requestsAreObserved())
    permits.giveUp(exchange, nowMs, { isAtWork, servedClient: !isDoubted && servedClient(exchange) })
    if (response !== undefined) watchEnd(response, onEnd)
    if (onHandlerEnd(request, onEnd)) onEnd()
  }

  /** True for a response that sends events as they occur, which needs no permit. */
  #isFeed({ serviceBucket, response, stream }: Exchange): boolean {
    if (stream !== undefined) return stream.habit === 'feed'
    return response?.headersSent === true && this.#parts.streams.habitOf(serviceBucket, announced(response)) === 'feed'
  }
}

/** True if the app has detached the socket from Node (`detachSocket`), or has removed meltproof's listeners. */
function endedUnseen(exchange: Exchange): boolean {
  const { connection, response, abandoned } = exchange
  if (connection === undefined || response === undefined || abandoned) return false
  if (response.writableFinished || connection.socket.destroyed) return true
  // A pipelined response has no socket yet.
  return response.socket === null && connection.overlapping?.has(exchange) !== true
}

/** True if the handler pipes into the response or reads a body that will not arrive: such handlers often end unseen. */
function servedClient({ request, response }: Exchange): boolean {
  return response?.headersSent === true ? response.listenerCount('unpipe') > 0 : waitsForBody(request)
}

/** Calls `ended` when the handler ends or destroys a response whose client no longer waits for it. */
function watchEnd(response: ServerResponse, ended: () => void): void {
  const methods = response as unknown as Record<'end' | 'destroy', (...args: unknown[]) => unknown>
  for (const name of ['end', 'destroy'] as const) {
    const original = methods[name]
    methods[name] = function (...args) {
      ended()
      return original.apply(this, args)
    }
  }
}
