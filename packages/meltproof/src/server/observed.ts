/**
 * What the door notes of a request while somebody observes: fills in its timeline and publishes its record. Nothing
 * here is called, and nothing is allocated, while nobody does.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { requests } from '../channels.ts'
import { now } from '../clock.ts'
import { routeOf } from '../route.ts'
import { stalledBetween } from '../signals/loop-stalls.ts'
import { beginRequest, endRequest } from '../timing/keeper.ts'
import type { RequestTimeline } from '../timing/request-timeline.ts'
import { serverTimingHeader } from '../timing/server-timing.ts'

/** A request has left the gate, and somebody wants to know what becomes of it. */
export function startTimeline(arrivedAtMs: number, startedAtMs: number, lateMs: number): RequestTimeline {
  const timeline = beginRequest(arrivedAtMs)
  timeline.startedAtMs = startedAtMs
  timeline.lateMs = lateMs
  return timeline
}

/** Its response exists: follows it to its end, and publishes the record there. */
export function followResponse(
  timeline: RequestTimeline,
  server: Server,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  response.on('prefinish', () => {
    timeline.answeredAtMs = now()
  })
  if (!request.complete) {
    request.on('end', () => {
      timeline.receivedAtMs = now()
    })
  }
  response.on('close', () => publish(timeline, server, request, response))
}

function publish(timeline: RequestTimeline, server: Server, request: IncomingMessage, response: ServerResponse): void {
  const figures = endRequest(timeline, now())
  if (!requests.hasSubscribers) return
  requests.publish({
    record: {
      method: request.method ?? '',
      url: request.url ?? '',
      route: routeOf(request),
      status: response.headersSent ? response.statusCode : 0,
      outcome: response.writableFinished ? 'answered' : 'aborted',
      arrivedAtMs: timeline.arrivedAtMs,
      ...figures,
    },
    server,
    request,
    response,
  })
}

/**
 * Has the answer say how long it took us (W3C Server Timing), so that a caller can tell us from the network. An entry
 * of the app's own stays beside it.
 */
export function sayServerTiming(timeline: RequestTimeline, response: ServerResponse): void {
  const { writeHead } = response
  const sayThenWrite = function (this: ServerResponse, ...head: Parameters<typeof writeHead>): ServerResponse {
    if (!this.headersSent) {
      const nowMs = now()
      const totalMs = nowMs - timeline.arrivedAtMs
      this.appendHeader(
        'server-timing',
        serverTimingHeader(
          totalMs,
          timeline.startedAtMs - timeline.arrivedAtMs,
          stalledBetween(timeline.arrivedAtMs, nowMs),
        ),
      )
    }
    return writeHead.apply(this, head)
  }
  response.writeHead = sayThenWrite as typeof writeHead
}
