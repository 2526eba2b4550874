/**
 * Feeds the metrics of metrics.ts from the diagnostics channels. Prometheus and OpenTelemetry each define a Series. The
 * series of an event are looked up once for each combination of labels; the number of combinations is bounded.
 */
import type { IncomingMessage, Server } from 'node:http'
import { logLosses, passingRequests, type RequestMessage, type ShedMessage, sheds, stalls } from '../channels.ts'
import { isTlsServer } from '../loaded.ts'
import {
  LEFT,
  type LogLossRecord,
  methodIndex,
  METHODS,
  type OutboundRecord,
  type RequestRecord,
  type ShedRecord,
  type StallRecord,
} from '../record.ts'
import type { CallTimeline } from '../timing/call-timeline.ts'
import { enableRequestTiming } from '../timing/observed.ts'
import { watchCalls } from '../timing/tracker.ts'
import { EventLoop } from './event-loop.ts'
import { addressOf, boundedNames, type Labels } from './labels.ts'
import type { Feed, GuardLike, Metric } from './metrics.ts'
import type { CheckedObserveOptions } from './options.ts'

/** Maximum number of error codes, because apps may define any. */
const MOST_ERRORS = 50

/** One metric with one set of labels. */
export interface Series {
  /** @param request the request that was measured at `nowMs`; undefined if there is none, or several */
  add(value: number, times: number, nowMs?: number, request?: IncomingMessage): void
}

export interface Reporting {
  readonly metrics: readonly Metric[]
  seriesOf(metric: Metric, labels: Labels): Series
}

/** Measures calls, stalls and lost log lines of the process, and the requests of `guard` only. */
export function measure(
  guard: GuardLike,
  { routeOf, peerOf, slowMs }: CheckedObserveOptions,
  reporting: Reporting,
  seen: (message: RequestMessage, route: string) => void = () => undefined,
): { readonly loop: EventLoop; close(): void } {
  const binder = bindersOf(reporting)
  const requestSeries = binder<RequestRecord>(metric => metric.request)
  const callSeries = binder<CallTimeline>(metric => metric.call)
  const stallSeries = binder<StallRecord>(metric => metric.stall)({})
  const delaySeries = binder<number>(metric => metric.loopDelay)({})
  const loop = new EventLoop((delayMs, times) => feed(delaySeries, delayMs, false, times))
  const shedSeries = binder<ShedRecord>(metric => metric.shed)
  const bindLoss = binder<LogLossRecord>(metric => metric.logLoss)
  const lossSeries = { stdout: bindLoss({ stream: 'stdout' }), stderr: bindLoss({ stream: 'stderr' }) }

  const isMeasured = (message: { readonly guard: object }): boolean => guard.ofAll === true || message.guard === guard
  // Nested maps, because building a text key for each request would be too slow.
  const byRoute = new Map<string, Map<number, Bound<RequestRecord>>>()
  const boundFor = ({ record: { method, status }, server }: RequestMessage, route: string): Bound<RequestRecord> => {
    let ofRoute = byRoute.get(route)
    if (ofRoute === undefined) {
      ofRoute = new Map()
      byRoute.set(route, ofRoute)
    }
    const scheme = schemeOf(server)
    const key = (status * METHODS.length + methodIndex(method)) * 2 + Number(scheme === 'https')
    let bound = ofRoute.get(key)
    if (bound === undefined) {
      bound = requestSeries({
        method: METHODS[methodIndex(method)],
        scheme,
        status: status === 0 ? undefined : status,
        error: status === 0 ? 'aborted' : status >= 500 ? String(status) : undefined,
        route: route === '' ? undefined : route,
      })
      ofRoute.set(key, bound)
    }
    return bound
  }
  const onRequest = (message: RequestMessage): void => {
    if (!isMeasured(message)) return
    const { record, request } = message
    const route = routeOf(record, request)
    const { arrivedAtMs, totalMs, lateMs } = record
    feed(boundFor(message, route), record, totalMs + lateMs >= slowMs, 1, arrivedAtMs + totalMs, request)
    seen(message, route)
  }
  const byLabels = new Map<string, Bound<ShedRecord>>()
  const onShed = (message: ShedMessage): void => {
    if (!isMeasured(message)) return
    const { record, server, request } = message
    const { method, reason, count } = record
    const left = reason === LEFT
    const scheme = schemeOf(server)
    const key = `${scheme} ${method} ${left}`
    const answer = left ? { status: undefined, error: 'aborted' } : { status: 503, error: 'shed' }
    const bound = byLabels.get(key) ?? shedSeries({ method, scheme, route: undefined, ...answer })
    byLabels.set(key, bound)
    feed(bound, record, false, count, record.atMs, request)
  }
  const errorOf = boundedNames(MOST_ERRORS)
  const byCall = new Map<string, Bound<CallTimeline>>()
  const onCall = (record: OutboundRecord, timeline: CallTimeline): void => {
    const peer = peerOf(record.peer)
    const labels = callLabels(record, peer, errorOf)
    const key = Object.values(labels).join('\0')
    const bound = byCall.get(key) ?? callSeries(labels)
    byCall.set(key, bound)
    feed(bound, timeline, timeline.wallMs >= slowMs, 1)
  }
  const onStall = (record: StallRecord): void => feed(stallSeries, record, false, 1)
  const onLogLoss = (record: LogLossRecord): void => feed(lossSeries[record.stream], record, false, 1)

  passingRequests.subscribe(onRequest)
  sheds.subscribe(onShed)
  stalls.subscribe(onStall)
  logLosses.subscribe(onLogLoss)
  enableRequestTiming()
  const unwatchCalls = watchCalls(onCall)
  return {
    loop,
    close() {
      passingRequests.unsubscribe(onRequest)
      sheds.unsubscribe(onShed)
      stalls.unsubscribe(onStall)
      logLosses.unsubscribe(onLogLoss)
      unwatchCalls()
      loop.close()
    },
  }
}

/** The scheme that this process serves; a proxy in front may have removed TLS. */
export function schemeOf(server: Server): string {
  return isTlsServer(server) ? 'https' : 'http'
}

function callLabels(record: OutboundRecord, peer: string, errorOf: (code: string) => string): Labels {
  const { kind, operation, status, errorCode, outcome } = record
  if (kind !== 'http') return { peer, outcome }
  const failed = status === undefined ? errorOf(errorCode ?? outcome) : undefined
  const error = status !== undefined && status >= 400 ? String(status) : failed
  return { peer, outcome, method: METHODS[methodIndex(operation)], ...addressOf(peer), status, error }
}

interface FedSeries<E> {
  readonly series: Series
  readonly feed: Feed<E>
}

interface Bound<E> {
  readonly whenQuick: readonly FedSeries<E>[]
  readonly whenSlow: readonly FedSeries<E>[]
}

function feed<E>(
  bound: Bound<E>,
  event: E,
  slow: boolean,
  times: number,
  nowMs?: number,
  request?: IncomingMessage,
): void {
  const fed = slow ? bound.whenSlow : bound.whenQuick
  for (let i = 0; i < fed.length; i++) {
    const { series, feed } = fed[i]!
    const value = feed.value(event)
    if (value !== undefined) series.add(value, times, nowMs, request)
  }
}

type Binder = <E>(feedsOf: (metric: Metric) => readonly Feed<E>[] | undefined) => (ofEvent: Labels) => Bound<E>

/**
 * Each binder finds one series for each feed whose labels are all known. Binders share series: a request that is
 * aborted in service counts in the same one as a request that is aborted in the queue.
 */
function bindersOf({ metrics, seriesOf }: Reporting): Binder {
  const known = new Map<string, Series>()
  const seriesWith = (metric: Metric, labels: Labels): Series => {
    const names = metric.labels ?? []
    const key = [metric.otel, ...names.map(name => labels[name])].join('\0')
    const series = known.get(key) ?? seriesOf(metric, Object.fromEntries(names.map(name => [name, labels[name]])))
    known.set(key, series)
    return series
  }
  return feedsOf => {
    const bind = (ofEvent: Labels) => {
      const fed = metrics.flatMap(metric =>
        (feedsOf(metric) ?? []).flatMap(feed => {
          const labels: Labels = { ...ofEvent, ...feed.labels }
          const areKnown = metric.labels?.every(name => name in labels) !== false
          return areKnown ? [{ series: seriesWith(metric, labels), feed }] : []
        }),
      )
      return { whenQuick: fed.filter(({ feed }) => !feed.bySlow), whenSlow: fed }
    }
    // Series with constant labels are created in advance: rate() does not see the event with which a counter appears.
    bind({})
    return bind
  }
}
