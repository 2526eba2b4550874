/** Writes every answer of meltproof: 503 for a shed, 204 for a preflight that is shed, 504 for a missed deadline. */
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http'
import { httpDate } from '../../clock.ts'
import type { AnswerKind } from '../connection/answer-kind.ts'
import type { Connection } from '../connection/connection.ts'
import { describeHead, type HeadNeeds } from '../request/request-head.ts'
import { grpcLate, grpcShed, isGrpc } from './grpc-answers.ts'
import { endAfter, endConnection } from './last-answer.ts'
import type { LoadReports } from './load-reports.ts'
import { NO_RETRY, type ShedHeaders } from './shed-headers.ts'
import { isHttp2 } from '../request/is-http2.ts'

export interface ShedAnswerOptions {
  readonly retryAfterS: readonly [least: number, most: number]
  readonly headers: ShedHeaders
  readonly body: Body
  readonly page: string
  /** Current pressure of the server, 0 to 1, which determines `Retry-After`. */
  readonly pressure: () => number
  readonly reports?: LoadReports | undefined
}

interface Body {
  readonly type: string
  readonly text: string
}

// The problem type of draft-ietf-httpapi-ratelimit-headers, section "Problem Types".
const REDUCED = 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity'
export const SHED_PROBLEM: Body = problem(
  REDUCED,
  503,
  'The server is overloaded',
  'This server is overloaded and did not start the request. Retry after the time given in Retry-After.',
)
export const HTML_PAGE: string = pageOf(
  'Busy right now',
  'This site has more visitors at the moment than it can serve. Your request was not started, so nothing is lost: please try again in a few seconds.',
)

const HTML = 'text/html; charset=utf-8'
const BEGUN_PROBLEM = problem(
  REDUCED,
  503,
  'The server is overloaded',
  'This server is overloaded and no longer works on the request, which may or may not have been carried out.',
)
const LATE_PROBLEM = problem(
  'about:blank',
  504,
  'Gateway Timeout',
  'The answer was not ready before the deadline of the request. The work in progress for it has been cancelled.',
)
const LATE_PAGE = {
  type: HTML,
  text: pageOf(
    'This took too long',
    'The answer was not ready in time, so we have stopped waiting. Your request may or may not have been carried out.',
  ),
}
/** Replaces the default bodies, which say that nothing was started. */
const ONCE_BEGUN = new Map([[SHED_PROBLEM.text, BEGUN_PROBLEM]]).set(HTML_PAGE, LATE_PAGE)
/** Up to this many bytes of a body are read and discarded after an answer of meltproof, to keep the connection. */
const DROPPABLE_BODY = 65_536
/** The app's header fields that stay: a browser needs them to show the answer, or they help to trace the request. */
const KEPT = /^(?:access-control-.*|vary|x-request-id|x-correlation-id|traceparent|server-timing)$/

export class OwnAnswers {
  readonly #options: ShedAnswerOptions
  readonly #body: Body
  readonly #page: Body
  /** The operator's header lines, each with its line end. */
  readonly #lines: string
  readonly #allowsOrigin: boolean
  /** By kind of answer: the text before and after the seconds of `Retry-After`. */
  #ready: (readonly [before: string, after: string])[] = []
  #date = ''
  #keepAliveMs = 0
  #load = ''

  constructor(options: ShedAnswerOptions) {
    this.#options = options
    this.#body = options.body
    this.#page = { type: HTML, text: options.page }
    this.#lines = linesOf(options.headers)
    this.#allowsOrigin = 'access-control-allow-origin' in options.headers
  }

  /** A script never sees the 503 of a preflight, so a preflight gets 204. The request after it may then be shed. */
  isPreflight(method: string | undefined, needs: HeadNeeds): boolean {
    return this.#allowsOrigin && needs.asksMethod && method === 'OPTIONS'
  }

  /** The answer as a whole HTTP/1.1 message in latin-1. @param keepAliveMs 0 if idle connections stay open */
  message(kind: AnswerKind, date: string, keepAliveMs: number, load = ''): string {
    const isOld = load !== '' && load !== this.#load
    if (isOld) this.#load = load
    if (isOld || date !== this.#date || keepAliveMs !== this.#keepAliveMs) {
      this.#date = date
      this.#keepAliveMs = keepAliveMs
      this.#ready = []
    }
    const index =
      (load === '' ? 0 : 16) +
      (kind.preflight ? 8 : 0) +
      (kind.page ? 4 : 0) +
      (kind.head ? 2 : 0) +
      (kind.keepAlive ? 1 : 0)
    this.#ready[index] ??= this.#serialise(kind, load)
    const [before, after] = this.#ready[index]
    return kind.preflight ? before : before + this.#randomRetryAfter() + after
  }

  /** Writes the answer to the socket, without Node's response. @param complete whether the whole request has arrived */
  shedAtSocket(connection: Connection, kind: AnswerKind, server: Server, nowMs: number, complete: boolean): void {
    const { socket } = connection
    if (kind.keepAlive) connection.startIdleTimeout(server)
    const load = this.#options.reports?.line(connection, nowMs)
    socket.write(this.message(kind, httpDate(nowMs), server.keepAliveTimeout, load), 'latin1')
    if (!kind.keepAlive) endConnection(socket, complete)
  }

  /** Writes the answer through Node's response. Returns its body's bytes. @param begun whether a handler has begun */
  shed(request: IncomingMessage, response: ServerResponse, begun = false): number {
    const load = this.#options.reports?.fields(request)
    if (isGrpc(request)) {
      grpcShed(response, this.#randomRetryAfter(), begun, load)
      return 0
    }
    const needs = describeHead(request.rawHeaders)
    const { headers } = this.#options
    if (this.isPreflight(request.method, needs))
      return write(request, response, needs, 204, undefined, { ...headers, ...load })
    const fields = { ...headers, ...load, ...NO_RETRY, 'retry-after': String(this.#randomRetryAfter()) }
    const body = needs.prefersHtml ? this.#page : this.#body
    return write(request, response, needs, 503, begun ? (ONCE_BEGUN.get(body.text) ?? body) : body, fields)
  }

  late(request: IncomingMessage, response: ServerResponse): void {
    if (isGrpc(request)) {
      grpcLate(response)
      return
    }
    const needs = describeHead(request.rawHeaders)
    write(request, response, needs, 504, needs.prefersHtml ? LATE_PAGE : LATE_PROBLEM, {})
  }

  bodyBytes({ preflight, page, head }: AnswerKind): number {
    return preflight || head ? 0 : Buffer.byteLength((page ? this.#page : this.#body).text)
  }

  #randomRetryAfter(): number {
    return retryAfter(this.#options.retryAfterS, this.#options.pressure())
  }

  #serialise({ preflight, page, head, keepAlive }: AnswerKind, load: string): readonly [before: string, after: string] {
    // Node sends this hint, too. Without it, clients would reuse a connection at the moment when it closes.
    const hint = this.#keepAliveMs > 0 ? `\r\nkeep-alive: timeout=${Math.floor(this.#keepAliveMs / 1000)}` : ''
    const ends = `${load}date: ${this.#date}\r\nconnection: ${keepAlive ? `keep-alive${hint}` : 'close'}\r\n\r\n`
    if (preflight) return [`HTTP/1.1 204 No Content\r\n${this.#lines}${ends}`, '']
    const { type, text } = page ? this.#page : this.#body
    const bytes = Buffer.from(text, 'utf8')
    return [
      `HTTP/1.1 503 Service Unavailable\r\ncontent-type: ${type}\r\ncontent-length: ${bytes.length}\r\nretry-after: `,
      `\r\n${this.#lines}${linesOf(NO_RETRY)}cache-control: no-store\r\n${ends}${head ? '' : bytes.toString('latin1')}`,
    ]
  }
}

function linesOf(headers: ShedHeaders): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

function write(
  request: IncomingMessage,
  response: ServerResponse,
  needs: HeadNeeds,
  status: number,
  body: Body | undefined,
  fields: OutgoingHttpHeaders,
): number {
  for (const name of response.getHeaderNames()) if (!KEPT.test(name)) response.removeHeader(name)
  // HTTP/2 has neither a status message nor a Connection field, and Node warns about both.
  if (!isHttp2(request)) {
    response.statusMessage = ''
    // Before a 504 the handler has run, so an Expect field has been answered.
    const keeps = keepsConnection(request, needs) || (status === 504 && request.complete)
    if (!response.shouldKeepAlive || !keeps) endAfter(request, response)
  }
  if (body === undefined) {
    response.writeHead(status, fields)
    response.end()
    return 0
  }
  const { type, text } = body
  const length = Buffer.byteLength(text)
  response.writeHead(status, { 'content-type': type, 'content-length': length, ...fields, 'cache-control': 'no-store' })
  response.end(request.method === 'HEAD' ? undefined : text)
  return request.method === 'HEAD' ? 0 : length
}

/**
 * The seconds that a shed client should wait. Each client gets a random second from half of the range, so that clients
 * do not return at the same time. While few requests are shed, this is the first half of the range; the more are shed,
 * the later it lies, up to the last half when all are shed.
 * @param pressure 0 to 1; above 0.5 a growing share is shed
 */
export function retryAfter([least, most]: readonly [least: number, most: number], pressure: number): number {
  const spread = Math.ceil((most - least) / 2)
  const shedShare = Math.min(1, Math.max(0, 2 * pressure - 1))
  const first = least + Math.round(shedShare * (most - least - spread))
  return first + Math.floor(Math.random() * (spread + 1))
}

/** A client that still has much to send, or waits for permission to send it, cannot reuse the connection. */
export function keepsConnection({ complete }: IncomingMessage, { bodyBytes, expects }: HeadNeeds): boolean {
  return !expects && (complete || bodyBytes <= DROPPABLE_BODY)
}

function problem(type: string, status: number, title: string, detail: string): Body {
  return { type: 'application/problem+json', text: JSON.stringify({ type, title, status, detail }) }
}

function pageOf(title: string, text: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:18vh auto;padding:0 1.5rem;color:#222}@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}</style>
</head><body><h1>${title}</h1><p>${text}</p></body></html>
`
}
