/** Measures requests, and publishes their records while the channels for requests (channels.ts) have subscribers. */
import type { ServerResponse } from 'node:http'
import { passingRequests, requests } from '../channels.ts'
import { now } from '../clock.ts'
import { routeOf } from '../request-notes.ts'
import { leaveScope, runInScope } from '../outbound/scope.ts'
import { stalledBetween } from '../signals/loop-stalls.ts'
import { beginRequest, endRequest, latenessNow } from './tracker.ts'
import type { RequestTimes } from './request-timeline.ts'
import { TalliedSheds } from './tallied-sheds.ts'
import { serverTimingHeader } from './server-timing.ts'
import { registerRequestObserver, type RequestObserver, type Source } from '../server/response/observer.ts'
import { addToHead, beforeHead } from '../server/response/before-head.ts'
import { onBodyEnd } from '../server/request/body-readers.ts'
import { beginCount, bodyBytes } from './body-bytes.ts'
import type { Exchange } from '../server/request/exchange.ts'

/**
 * The core loads this file for the first recorded request. Code that observes requests, such as metrics(), calls this
 * function earlier, because in an app bundled into one file the core's own load would be too late.
 */
export function enableRequestTiming(): void {
  registerRequestObserver({ latenessNow, run, publish, shedRecordsOf: source => new TalliedSheds(source) })
}

const run: RequestObserver['run'] = (exchange, tells, handle) => {
  const { request } = exchange
  const response = exchange.response!
  const times = beginRequest(exchange.arrivedAt, exchange.startedAt, exchange.lateMs)
  exchange.times = times
  if (requests.hasSubscribers) beginCount(times, request, response)
  // GET and HEAD requests rarely have a body.
  if (!request.complete && request.method !== 'GET' && request.method !== 'HEAD') {
    onBodyEnd(request, () => {
      // After the answer Node ends a body that the handler has not read; that says nothing about the client.
      if (!response.writableEnded) times.receivedAtMs = now()
    })
  }
  if (tells) sayServerTiming(exchange, response)
  try {
    return runInScope(times, handle)
  } finally {
    // Most cheap handlers have answered by now, and need no reading of the clock.
    if (hasLeft(exchange, response)) times.returnedAtMs = AT_ITS_END
    else {
      times.returnedAtMs = now()
      if (response.writableEnded) noteAnswered(exchange, times, times.returnedAtMs)
      else response.on('prefinish', () => noteAnswered(exchange, times, now()))
    }
  }
}

/** True if the whole answer has been passed to the kernel. Only HTTP/1 shows that at once. */
function hasLeft({ connection }: Exchange, { writableEnded, socket }: ServerResponse): boolean {
  return connection !== undefined && writableEnded && socket?.writableLength === 0
}

const AT_ITS_END = Number.POSITIVE_INFINITY

function noteAnswered({ connection }: Exchange, times: RequestTimes, atMs: number): void {
  times.answeredAtMs = atMs
  if (connection !== undefined) connection.answeredAtMs = atMs
}

function publish({ guard, server }: Source, exchange: Exchange, atMs: number): void {
  const times = exchange.times as RequestTimes
  exchange.times = undefined
  leaveScope(times)
  if (times.returnedAtMs === AT_ITS_END) noteAnswered(exchange, times, atMs)
  const kept = requests.hasSubscribers
  const record = endRequest(times, atMs, kept)
  const { request, response } = exchange
  if (response === undefined || !(kept || passingRequests.hasSubscribers)) return
  record.method = request.method ?? ''
  record.url = exchange.url
  record.route = routeOf(request)
  // In gRPC a missed deadline is a field of an answer with status 200.
  record.status = exchange.answeredLate ? 504 : response.headersSent ? response.statusCode : 0
  record.outcome = wasAnswered(response) ? 'answered' : 'aborted'
  record.bytes = kept ? bodyBytes(times, request, response) : undefined
  const message = { record, guard, server, request, response }
  if (passingRequests.hasSubscribers) passingRequests.publish(message)
  if (kept) requests.publish(message)
}

/** Node itself ends the HTTP/2 streams whose clients leave, so an ended stream may be an aborted one. */
function wasAnswered(response: ServerResponse & { readonly stream?: { readonly aborted: boolean } }): boolean {
  return response.headersSent && response.writableFinished && response.stream?.aborted !== true
}

/** W3C Server Timing, so that a caller can distinguish this server from the network. The app's own entries stay. */
function sayServerTiming({ arrivedAt, startedAt }: Exchange, response: ServerResponse): void {
  beforeHead(response, head => {
    const nowMs = now()
    const header = serverTimingHeader(nowMs - arrivedAt, startedAt - arrivedAt, stalledBetween(arrivedAt, nowMs))
    return addToHead(response, head, 'server-timing', header)
  })
}

enableRequestTiming()
