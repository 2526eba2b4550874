/**
 * What the door notes of a request while somebody observes: fills in its timeline and publishes its record. Nothing
 * here is called, and nothing is allocated, while nobody does.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { passingRequests, requests } from '../../channels.ts'
import { now } from '../../clock.ts'
import { routeOf } from '../../route.ts'
import { leaveScope, runInScope } from '../../scope.ts'
import { stalledBetween } from '../../signals/loop-stalls.ts'
import { beginRequest, endRequest } from '../../timing/tracker.ts'
import type { RequestTimes } from '../../timing/request-times.ts'
import { serverTimingHeader } from '../../timing/server-timing.ts'
import { beginCount, bodyBytes } from './body-bytes.ts'
import type { Exchange } from '../request/exchange.ts'

/**
 * Runs the handler of a request with a timeline, which everything the handler starts belongs to. Its exceptions pass.
 * Whoever calls sees to it that {@link publishRecord} is called when the response closes.
 * @param tells whether the answer says how long it took us
 */
export function observed(
  exchange: Exchange,
  request: IncomingMessage,
  response: ServerResponse,
  tells: boolean,
  handle: () => boolean,
): boolean {
  const times = beginRequest(exchange.arrivedAt, exchange.startedAt, exchange.lateMs)
  exchange.times = times
  if (requests.hasSubscribers) beginCount(exchange, request, response)
  // Nearly all requests without a body are of these methods, and what they lack need not be waited for.
  if (!request.complete && request.method !== 'GET' && request.method !== 'HEAD') {
    request.on('end', () => {
      // After the answer Node ends what nobody has read; that says nothing about the client.
      if (!response.writableEnded) times.receivedAtMs = now()
    })
  }
  if (tells) sayServerTiming(exchange, response)
  try {
    return runInScope(times, handle)
  } finally {
    // The answer of most cheap handlers has left by now: they end where the request does, and no clock is read for it.
    if (hasLeft(exchange, response)) times.returnedAtMs = AT_ITS_END
    else noteReturned(exchange, response, times, now())
  }
}

/** Its answer has been given to the kernel, all of it. HTTP/1 alone tells at once. */
function hasLeft({ connection }: Exchange, { writableEnded, socket }: ServerResponse): boolean {
  return connection !== undefined && writableEnded && socket?.writableLength === 0
}

/** The last moment of a request, whenever that is. */
const AT_ITS_END = Number.POSITIVE_INFINITY

function noteReturned(exchange: Exchange, response: ServerResponse, times: RequestTimes, atMs: number): void {
  times.returnedAtMs = atMs
  if (response.writableEnded) noteAnswered(exchange, times, atMs)
  else response.on('prefinish', () => noteAnswered(exchange, times, now()))
}

function noteAnswered({ connection }: Exchange, times: RequestTimes, atMs: number): void {
  times.answeredAtMs = atMs
  if (connection !== undefined) connection.answeredAtMs = atMs
}

/** The response of an observed request has closed, at `atMs`. */
export function publishRecord(server: Server, exchange: Exchange, times: RequestTimes, atMs: number): void {
  exchange.times = undefined
  leaveScope(times)
  if (times.returnedAtMs === AT_ITS_END) noteAnswered(exchange, times, atMs)
  const kept = requests.hasSubscribers
  const record = endRequest(times, atMs, kept)
  const { request, response } = exchange
  if (response === undefined || !(kept || passingRequests.hasSubscribers)) return
  record.method = request.method ?? ''
  record.url = request.url ?? ''
  record.route = routeOf(request)
  record.status = response.headersSent ? response.statusCode : 0
  record.outcome = response.writableFinished ? 'answered' : 'aborted'
  record.bytes = kept ? bodyBytes(exchange, request, response) : undefined
  const message = { record, server, request, response }
  if (passingRequests.hasSubscribers) passingRequests.publish(message)
  if (kept) requests.publish(message)
}

/**
 * Has the answer say how long it took us (W3C Server Timing), so that a caller can tell us from the network. An entry
 * of the app's own stays beside it.
 */
function sayServerTiming(exchange: Exchange, response: ServerResponse): void {
  const { writeHead } = response
  const sayThenWrite = function (this: ServerResponse, ...head: Parameters<typeof writeHead>): ServerResponse {
    if (!this.headersSent) {
      const { arrivedAt: arrivedAtMs, startedAt: startedAtMs } = exchange
      const nowMs = now()
      const stalledMs = stalledBetween(arrivedAtMs, nowMs)
      this.appendHeader('server-timing', serverTimingHeader(nowMs - arrivedAtMs, startedAtMs - arrivedAtMs, stalledMs))
    }
    return writeHead.apply(this, head)
  }
  response.writeHead = sayThenWrite as typeof writeHead
}
