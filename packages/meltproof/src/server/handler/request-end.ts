/**
 * What the closing of a response says about the handler: it has ended, and its permit with it; or its client has gone, and
 * it works on for nobody.
 */
import type { Server, ServerResponse } from 'node:http'
import { now } from '../../clock.ts'
import type { Scope } from '../../scope.ts'
import type { Connection } from '../connection/connection.ts'
import type { FailOpen } from '../fail-open.ts'
import type { DryRun } from '../gate/dry-run.ts'
import type { ServerGate } from '../gate/server-gate.ts'
import type { Waiting } from '../gate/waiting.ts'
import { sendsEvents, waitsForBody } from '../permit/streaming-responses.ts'
import type { Exchange } from '../request/exchange.ts'
import { publishRecord } from '../response/observed.ts'

export class RequestEnd {
  readonly #server: Server
  readonly #gate: ServerGate
  readonly #waiting: Waiting
  readonly #dryRun: DryRun
  readonly #failOpen: FailOpen
  readonly #connectionOf: (exchange: Exchange) => Connection | undefined

  constructor(
    server: Server,
    gate: ServerGate,
    waiting: Waiting,
    dryRun: DryRun,
    failOpen: FailOpen,
    connectionOf: (exchange: Exchange) => Connection | undefined,
  ) {
    this.#server = server
    this.#gate = gate
    this.#waiting = waiting
    this.#dryRun = dryRun
    this.#failOpen = failOpen
    this.#connectionOf = connectionOf
  }

  /** Its response is closed. */
  closed(exchange: Exchange): void {
    const nowMs = now()
    this.#gate.activeAt = nowMs
    const { times } = exchange
    const connection = this.#connectionOf(exchange)
    const pipelined = connection?.overlapping?.delete(exchange) === true
    if (times !== undefined) publishRecord(this.#server, exchange, times, nowMs)
    if (this.#waiting.gone(exchange) || exchange.abandoned) return
    if (handlerHasEnded(exchange, connection, pipelined)) {
      this.#handlerEnded(exchange, exchange.response?.headersSent === true, nowMs)
    } else if (onlyServedItsClient(exchange)) this.#handlerEnded(exchange, false, nowMs)
    else this.#abandon(exchange, times)
  }

  /** Node has handed the request on, or answered it itself (no Host header, a 417). */
  handedOn(exchange: Exchange, connection: Connection): void {
    const { response } = exchange
    if (response === undefined) {
      connection.overlapping?.delete(exchange)
      this.#handlerEnded(exchange, true, now())
    } else if (response.headersSent && this.#gate.queued > 0 && sendsEvents(response)) {
      // When thousands of event sources connect at once, the next look for streams is too late.
      this.#failOpen.guard(() => this.#gate.permits.record(exchange, now()))
    }
  }

  /** Its client was told that its deadline has passed. */
  answeredLate(exchange: Exchange): void {
    exchange.answeredLate = true
    if (exchange.uploadEnd !== undefined) exchange.uploadEnd.answeredLate = true
    this.#abandon(exchange, exchange.times)
  }

  /** Nobody waits for its answer any more, but its handler works on. */
  #abandon(exchange: Exchange, scope: Scope | undefined): void {
    const working = exchange.uploadEnd ?? exchange
    if (working.abandoned || (working.shadow === undefined && !working.inService)) return
    const ended = (): void => this.#handlerEnded(working, false, now())
    this.#failOpen.guard(() => this.#gate.permits.abandon(working, now(), scope, ended))
  }

  /** `answered`: with an answer of its own. */
  #handlerEnded(exchange: Exchange, answered: boolean, nowMs: number): void {
    exchange.budget?.settle()
    if (exchange.shadow !== undefined) {
      this.#dryRun.handlerEnded(exchange, nowMs)
      return
    }
    // Once a request: not worth a closure for guard().
    try {
      if (answered) this.#gate.permits.record(exchange, nowMs)
      else this.#gate.permits.drop(exchange, nowMs)
    } catch (error) {
      this.#failOpen.fail(error)
    }
  }
}

/**
 * Whether the handler has ended of a request whose response is closed: it has ended the response, thrown, or closed the
 * connection. A client that leaves sends the end of its stream or an error; a timeout of Node's is not the handler's doing.
 *
 * @param pipelined its response was in line behind another
 */
export function handlerHasEnded(
  { request, response, threw }: Exchange,
  connection: Connection | undefined,
  pipelined: boolean,
): boolean {
  if (response === undefined || response.writableEnded || threw) return true
  // Node destroys a response whose turn had not come when the connection closes; the app alone destroys others.
  if (!pipelined && response.errored != null) return true
  if (request.httpVersionMajor >= 2) return streamHasEnded(response)
  if (connection === undefined) return false
  const { socket, timedOut } = connection
  // An error of the connection itself names the system call; one that the app destroyed it with does not.
  const lost = (socket.errored as NodeJS.ErrnoException | null)?.syscall !== undefined
  return !timedOut && !socket.readableEnded && !lost
}

/** HTTP/2 handlers may answer on the stream, past the response. A client that cancels gives a code. */
function streamHasEnded(response: ServerResponse & { stream?: { readonly rstCode?: number } }): boolean {
  return response.headersSent && response.stream?.rstCode === 0
}

/** What its handler still does ends with the client: it streams to it, or reads a body that will not come. */
function onlyServedItsClient({ request, response }: Exchange): boolean {
  return response?.headersSent === true || waitsForBody(request)
}
