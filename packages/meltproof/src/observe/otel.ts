/**
 * meltproof/otel: metrics and span attributes for OpenTelemetry. It uses only the API (`@opentelemetry/api`, an
 * optional peer); the app chooses an SDK and an exporter, if any.
 */
import type { Attributes, Meter, Observable, Span } from '@opentelemetry/api'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import { DURATION_BOUNDARIES_S, type RequestRecord } from '../record.ts'
import { checkBoolean } from '../options.ts'
import { stallNaming } from '../signals/named-stalls.ts'
import type { EventLoop } from './event-loop.ts'
import { LABELS, type LabelName, type Labels } from './labels.ts'
import { measure, type Series } from './measuring.ts'
import { type GuardLike, type Metric, METRICS } from './metrics.ts'
import { checkObserveOptions, type ObserveOptions } from './options.ts'
import { DeferredRecords } from './deferred-records.ts'
import { type Api, openTelemetryApi } from './peer.ts'
import { spansOfSheds } from './shed-spans.ts'

export type { GuardLike, ObserveOptions }

export interface InstrumentOptions extends ObserveOptions {
  /**
   * Set to false if another instrumentation already reports `http.server.request.duration` and
   * `http.client.request.duration`. Sheds, which no other instrumentation sees, are still reported.
   * @default true
   */
  readonly httpMetrics?: boolean
}

/**
 * Reports the requests of `guard` and its process through OpenTelemetry, and adds attributes to the spans of its
 * requests that say where their time went. The returned function ends this.
 *
 * @throws MeltproofError MELTPROOF_PEER_MISSING without `@opentelemetry/api`; another for an option that is unknown or
 *   out of range.
 */
export function instrument(guard: GuardLike, options: InstrumentOptions = {}): () => void {
  const checked = checkObserveOptions('instrument(guard, options)', guard, options, 'httpMetrics')
  const httpMetrics = checkBoolean('httpMetrics', options.httpMetrics ?? true)
  const api = openTelemetryApi()
  const meter = api.metrics.getMeter('meltproof')
  const wanted = httpMetrics ? METRICS : METRICS.flatMap(withoutOthersRequests)
  const deferred = new DeferredRecords()
  const makers = new Map(
    wanted.filter(({ read }) => read === undefined).map(metric => [metric, seriesMaker(meter, metric, deferred)]),
  )
  const closeShedSpans = spansOfSheds(api, guard)
  const spans = spansOfRequests(api)
  const { loop, close } = measure(
    guard,
    checked,
    {
      metrics: wanted,
      seriesOf: (metric, labels) => makers.get(metric)!(attributesOf(labels)),
    },
    ({ record, request, response }, route) => {
      spans.of(response)?.setAttributes({
        'meltproof.verdict': record.verdict,
        'meltproof.queued_ms': record.queuedMs,
        'meltproof.stalled_ms': record.stalledMs,
        'meltproof.dependency_ms': record.dependencyMs,
        'meltproof.pool_ms': record.poolMs,
        'meltproof.network_ms': record.networkMs,
        'meltproof.own_ms': record.ownMs,
        'meltproof.late_ms': record.lateMs,
        ...(route === '' ? {} : { 'http.route': route }),
        ...stallOf(record, request),
      })
    },
  )
  const stopReading = readWhenCollected(meter, wanted, guard, loop)
  return () => {
    stopReading()
    close()
    deferred.end()
    closeShedSpans()
    spans.close()
  }
}

/** Attributes for the longest named stall that a request caused or waited for. */
function stallOf({ arrivedAtMs, lateMs, totalMs }: RequestRecord, request: object): Attributes {
  const endedAtMs = arrivedAtMs + totalMs
  const fromMs = arrivedAtMs - lateMs
  let longest: { readonly text: string; readonly ms: number } | undefined
  for (const stall of stallNaming.figures?.between(fromMs, endedAtMs) ?? []) {
    const isOwn = stall.request?.deref() === request
    const ms = isOwn ? stall.toMs - stall.fromMs : Math.min(stall.toMs, endedAtMs) - Math.max(stall.fromMs, fromMs)
    if (ms <= (longest?.ms ?? 0)) continue
    const whose = isOwn || stall.route === undefined ? '' : ` for ${stall.route}`
    longest = { text: `${isOwn ? 'ran' : 'waited'} ${Math.round(ms)} ms${whose}: ${stall.place}`, ms }
  }
  return longest === undefined ? {} : { 'meltproof.stall': longest.text }
}

function withoutOthersRequests({ request, ...metric }: Metric): Metric[] {
  if (metric.otel.startsWith('http.')) return metric.shed === undefined ? [] : [metric]
  return [request === undefined ? metric : { ...metric, request }]
}

function seriesMaker(
  meter: Meter,
  { otel, kind, unit, help }: Metric,
  deferred: DeferredRecords,
): (attributes: Attributes) => Series {
  const described = { unit, description: help }
  if (kind === 'histogram') {
    const advice = { explicitBucketBoundaries: [...DURATION_BOUNDARIES_S] }
    const histogram = meter.createHistogram(otel, { ...described, advice })
    return attributes => {
      const take = (value: number): void => histogram.record(value, attributes)
      return { add: (value, times) => (times === 1 ? take(value) : deferred.defer(take, value, times)) }
    }
  }
  const counter = meter.createCounter(otel, described)
  return attributes => {
    counter.add(0, attributes)
    return {
      add(value, times) {
        if (value !== 0) counter.add(value * times, attributes)
      },
    }
  }
}

function attributesOf(labels: Labels): Attributes {
  const attributes: Attributes = {}
  for (const [label, value] of Object.entries(labels)) {
    if (value !== undefined) attributes[LABELS[label as LabelName].otel] = value
  }
  return attributes
}

function readWhenCollected(meter: Meter, metrics: readonly Metric[], guard: GuardLike, loop: EventLoop): () => void {
  const undos = metrics.flatMap(({ otel, kind, unit, help, read }) => {
    if (read === undefined) return []
    const described = { unit, description: help }
    const instrument: Observable =
      kind === 'counter' ? meter.createObservableCounter(otel, described) : meter.createObservableGauge(otel, described)
    const callback: Parameters<Observable['addCallback']>[0] = result => {
      for (const [labels, value] of read(guard, loop)) result.observe(value, attributesOf(labels))
    }
    instrument.addCallback(callback)
    return [() => instrument.removeCallback(callback)]
  })
  return () => {
    for (const undo of undos) undo()
  }
}

/**
 * Finds the span of a request. The instrumentation creates it when Node emits `request`, and makes it active for the
 * listeners. So meltproof prepends a listener for `request`, from the server's first request on.
 */
function spansOfRequests(api: Api): { of(response: object): Span | undefined; close(): void } {
  const spans = new WeakMap<object, Span>()
  const servers = new Set<Server>()
  const remember = (_: object, response: object): void => {
    const span = api.trace.getActiveSpan()
    if (span !== undefined) spans.set(response, span)
  }
  const onStart = (message: unknown): void => {
    const { server } = message as { server: Server }
    if (servers.has(server)) return
    servers.add(server)
    server.prependListener('request', remember)
    server.once('close', () => servers.delete(server))
  }
  subscribe('http.server.request.start', onStart)
  return {
    of: response => spans.get(response),
    close: () => {
      unsubscribe('http.server.request.start', onStart)
      for (const server of servers) server.removeListener('request', remember)
      servers.clear()
    },
  }
}
