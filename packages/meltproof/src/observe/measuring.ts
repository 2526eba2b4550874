/**
 * Feeds the metrics of the table from the channels. Prometheus and OpenTelemetry each say what a series is; which series
 * an event goes to is found once for each combination of labels, of which there is a bounded number.
 */
import { logLosses, passingRequests, type RequestMessage, stalls } from '../channels.ts'
import { guardOf } from '../guard-of.ts'
import type { LogLossRecord, OutboundRecord, RequestRecord, StallRecord } from '../record.ts'
import type { CallTimeline } from '../timing/call-timeline.ts'
import { watchCalls } from '../timing/tracker.ts'
import { EventLoop } from './event-loop.ts'
import { addressOf, type Labels, METHODS, methodIndex } from './labels.ts'
import type { Feed, GuardLike, Metric } from './metrics.ts'
import type { CheckedObserveOptions } from './options.ts'

/** One metric with one set of labels. */
export interface Series {
  add(value: number): void
}

/** Measures calls, stalls and lost log lines of the process, and the requests of `guard` alone. */
export function measure(
  guard: GuardLike,
  { routeOf, peerOf, slowMs }: CheckedObserveOptions,
  metrics: readonly Metric[],
  seriesOf: (metric: Metric, labels: Labels) => Series,
  seen: (message: RequestMessage, route: string) => void = () => undefined,
): { readonly loop: EventLoop; close(): void } {
  const loop = new EventLoop()
  const requestSeries = binder<RequestRecord>(metrics, metric => metric.request, seriesOf)
  const callSeries = binder<CallTimeline>(metrics, metric => metric.call, seriesOf)
  const stallSeries = binder<StallRecord>(metrics, metric => metric.stall, seriesOf)({})
  const lossSeries = binder<LogLossRecord>(metrics, metric => metric.logLoss, seriesOf)({})

  // A request has no time for a key of its own.
  const byRoute = new Map<string, Map<number, Bound<RequestRecord>>>()
  const boundFor = ({ record: { method, status }, request }: RequestMessage, route: string): Bound<RequestRecord> => {
    let ofRoute = byRoute.get(route)
    if (ofRoute === undefined) {
      ofRoute = new Map()
      byRoute.set(route, ofRoute)
    }
    const key = status * METHODS.length + methodIndex(method)
    let bound = ofRoute.get(key)
    if (bound === undefined) {
      bound = requestSeries({
        method: METHODS[methodIndex(method)],
        scheme: 'encrypted' in request.socket ? 'https' : 'http',
        status: status === 0 ? undefined : status,
        error: status >= 500 ? String(status) : undefined,
        route: route === '' ? undefined : route,
      })
      ofRoute.set(key, bound)
    }
    return bound
  }
  const onRequest = (message: RequestMessage): void => {
    if (guardOf(message.server) !== guard) return
    const { record, request } = message
    const route = routeOf(record, request)
    feed(boundFor(message, route), record, record.totalMs + record.lateMs >= slowMs)
    seen(message, route)
  }
  const byCall = new Map<string, Bound<CallTimeline>>()
  const onCall = (record: OutboundRecord, timeline: CallTimeline): void => {
    const peer = peerOf(record.peer)
    const labels = callLabels(record, peer)
    const key = Object.values(labels).join('\0')
    const bound = byCall.get(key) ?? callSeries(labels)
    byCall.set(key, bound)
    feed(bound, timeline, timeline.wallMs >= slowMs)
  }
  const onStall = (record: StallRecord): void => feed(stallSeries, record, false)
  const onLogLoss = (record: LogLossRecord): void => feed(lossSeries, record, false)

  passingRequests.subscribe(onRequest)
  stalls.subscribe(onStall)
  logLosses.subscribe(onLogLoss)
  const unwatchCalls = watchCalls(onCall)
  return {
    loop,
    close() {
      passingRequests.unsubscribe(onRequest)
      stalls.unsubscribe(onStall)
      logLosses.unsubscribe(onLogLoss)
      unwatchCalls()
      loop.close()
    },
  }
}

function callLabels({ kind, operation, status, errorCode, outcome }: OutboundRecord, peer: string): Labels {
  if (kind !== 'http') return { peer, outcome }
  const error = status === undefined ? (errorCode ?? outcome) : undefined
  return { peer, outcome, method: METHODS[methodIndex(operation)], ...addressOf(peer), status, error }
}

type Bound<E> = readonly { readonly series: Series; readonly feed: Feed<E> }[]

function feed<E>(bound: Bound<E>, event: E, slow: boolean): void {
  for (let i = 0; i < bound.length; i++) {
    const { series, feed } = bound[i]!
    if (slow || feed.onlySlow !== true) series.add(feed.value(event))
  }
}

/** Finds the series of events with these labels: one for each feed all of whose metric's labels are known. */
function binder<E>(
  metrics: readonly Metric[],
  feedsOf: (metric: Metric) => readonly Feed<E>[] | undefined,
  seriesOf: (metric: Metric, labels: Labels) => Series,
): (ofEvent: Labels) => Bound<E> {
  const known = new Map<string, Series>()
  const bind = (metric: Metric, feed: Feed<E>, ofEvent: Labels): Bound<E> => {
    const names = metric.labels ?? []
    const labels: Labels = { ...ofEvent, ...feed.labels }
    if (!names.every(name => name in labels)) return []
    const key = [metric.otel, ...names.map(name => labels[name])].join('\0')
    const series = known.get(key) ?? seriesOf(metric, Object.fromEntries(names.map(name => [name, labels[name]])))
    known.set(key, series)
    return [{ series, feed }]
  }
  const bindAll = (ofEvent: Labels): Bound<E> =>
    metrics.flatMap(metric => (feedsOf(metric) ?? []).flatMap(feed => bind(metric, feed, ofEvent)))
  // A counter that appears with its first event hides that event from rate().
  bindAll({})
  return bindAll
}
