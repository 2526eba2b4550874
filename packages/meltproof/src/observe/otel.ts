/**
 * meltproof/otel: what meltproof knows, as OpenTelemetry metrics and span attributes. Uses the API alone
 * (`@opentelemetry/api`, an optional peer): which SDK and exporter, if any, is the app's business.
 *
 * Names: stable HTTP semantic conventions (`http.server.request.duration`, `http.client.request.duration`, seconds),
 * `nodejs.eventloop.*`, and ours under `meltproof.*`.
 */
import type { Attributes, BatchObservableResult, Observable, Span } from '@opentelemetry/api'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import type { RequestMessage } from '../channels.ts'
import type { OutboundRecord, Shares } from '../record.ts'
import { checkBoolean } from '../options.ts'
import type { CallTimeline } from '../timing/call-timeline.ts'
import { EventLoop, type LoopDelay } from './event-loop.ts'
import { DURATION_BOUNDARIES_S } from './instruments.ts'
import { addressOf, methodLabel } from './labels.ts'
import { checkObserveOptions, OBSERVE_OPTIONS, type ObserveOptions } from './options.ts'
import { optionalPeer } from './peer.ts'
import { type GuardLike, watch } from './watch.ts'

export type { GuardLike, ObserveOptions }

export interface InstrumentOptions extends ObserveOptions {
  /**
   * False where another instrumentation already reports `http.server.request.duration` and its client's counterpart.
   * @default true
   */
  readonly httpMetrics?: boolean
}

type Api = typeof import('@opentelemetry/api')

/**
 * Reports what happens at `guard` and in its process through OpenTelemetry, and writes stalls and verdicts on the
 * spans of its requests. Returns a function that ends it.
 *
 * @throws MeltproofError MELTPROOF_PEER_MISSING without `@opentelemetry/api`; and for an option that is unknown or out
 *   of range.
 */
export function instrument(guard: GuardLike, options: InstrumentOptions = {}): () => void {
  const known = [...OBSERVE_OPTIONS, 'httpMetrics']
  const { slowMs, routeOf, peerOf } = checkObserveOptions('instrument(guard, options)', guard, options, known)
  const httpMetrics = checkBoolean('httpMetrics', options.httpMetrics ?? true)
  const api = optionalPeer<Api>('@opentelemetry/api', 'meltproof/otel')
  const meter = api.metrics.getMeter('meltproof')
  const seconds = { unit: 's', advice: { explicitBucketBoundaries: [...DURATION_BOUNDARIES_S] } }
  const server = httpMetrics ? meter.createHistogram('http.server.request.duration', seconds) : undefined
  const client = httpMetrics ? meter.createHistogram('http.client.request.duration', seconds) : undefined
  const dependency = meter.createHistogram('meltproof.dependency.duration', seconds)
  const requestShares = meter.createCounter('meltproof.request.share', { unit: 's' })
  const callShares = meter.createCounter('meltproof.call.share', { unit: 's' })
  const slowRequests = meter.createCounter('meltproof.slow_requests', { unit: '{request}' })
  const slowCalls = meter.createCounter('meltproof.slow_calls', { unit: '{call}' })
  const stalled = meter.createCounter('meltproof.stalled', { unit: 's' })
  const logLost = meter.createCounter('meltproof.log.lines_lost', { unit: '{line}' })
  const spans = spansOfRequests(api)
  const loop = new EventLoop()
  const stopReading = readings(api, guard, loop)

  const unwatch = watch(guard, {
    request: ({ record, request, response }: RequestMessage) => {
      const route = routeOf(record, request)
      server?.record(record.totalMs / 1000, {
        'http.request.method': methodLabel(record.method),
        'url.scheme': 'encrypted' in request.socket ? 'https' : 'http',
        ...(record.status === 0 ? {} : { 'http.response.status_code': record.status }),
        ...(record.status >= 500 ? { 'error.type': String(record.status) } : {}),
        ...(route === '' ? {} : { 'http.route': route }),
      })
      addShares(requestShares, record.shares, route === '' ? {} : { 'http.route': route })
      if (record.totalMs + record.lateMs >= slowMs) slowRequests.add(1, { 'meltproof.verdict': record.verdict })
      spans.of(response)?.setAttributes({
        'meltproof.verdict': record.verdict,
        'meltproof.queued_ms': record.queuedMs,
        'meltproof.stalled_ms': record.stalledMs,
        'meltproof.dependency_ms': record.dependencyMs,
        'meltproof.network_ms': record.networkMs,
        'meltproof.own_ms': record.ownMs,
        'meltproof.late_ms': record.lateMs,
        ...(route === '' ? {} : { 'http.route': route }),
      })
    },
    call: (record: OutboundRecord, timeline: CallTimeline) => {
      const peer = peerOf(record.peer)
      if (record.kind === 'http') client?.record(timeline.wallMs / 1000, clientAttributes(record, peer))
      const labels = { 'meltproof.peer': peer }
      dependency.record(timeline.dependencyMs.best / 1000, labels)
      addShares(callShares, timeline.shares, labels)
      if (timeline.wallMs >= slowMs) slowCalls.add(1, { ...labels, 'meltproof.verdict': timeline.verdict })
    },
    stall: ({ fromMs, toMs }) => stalled.add((toMs - fromMs) / 1000),
    logLoss: ({ stream, lines }) => logLost.add(lines, { 'log.iostream': stream }),
  })
  return () => {
    unwatch()
    spans.close()
    stopReading()
    loop.close()
  }
}

function clientAttributes(record: OutboundRecord, peer: string): Attributes {
  const { address, port } = addressOf(peer)
  return {
    'http.request.method': methodLabel(record.operation),
    'server.address': address,
    ...(port === '' ? {} : { 'server.port': Number(port) }),
    ...(record.status === undefined
      ? { 'error.type': record.errorCode ?? record.outcome }
      : { 'http.response.status_code': record.status }),
  }
}

function addShares(
  counter: { add(value: number, labels: Attributes): void },
  shares: Shares,
  labels: Attributes,
): void {
  counter.add(shares.loopMs / 1000, { ...labels, 'meltproof.part': 'loop' })
  counter.add(shares.dependencyMs / 1000, { ...labels, 'meltproof.part': 'dependency' })
  counter.add(shares.networkMs / 1000, { ...labels, 'meltproof.part': 'network' })
  counter.add(shares.selfMs / 1000, { ...labels, 'meltproof.part': 'self' })
}

/** Figures that are read when the SDK collects. */
function readings(api: Api, guard: GuardLike, loop: EventLoop): () => void {
  const meter = api.metrics.getMeter('meltproof')
  const gauge = (name: string, unit: string): Observable => meter.createObservableGauge(name, { unit })
  const delays = (['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'] satisfies (keyof LoopDelay)[]).map(
    figure => [figure, gauge(`nodejs.eventloop.delay.${figure}`, 's')] as const,
  )
  const time = meter.createObservableCounter('nodejs.eventloop.time', { unit: 's' })
  const utilization = gauge('nodejs.eventloop.utilization', '1')
  const inflight = gauge('meltproof.inflight', '{request}')
  const stragglers = gauge('meltproof.stragglers', '{request}')
  const abandoned = gauge('meltproof.abandoned', '{request}')
  const queued = gauge('meltproof.queued', '{request}')
  const limit = gauge('meltproof.limit', '{request}')
  const pressure = gauge('meltproof.pressure', '1')
  const admitted = meter.createObservableCounter('meltproof.admitted', { unit: '{request}' })
  const shed = meter.createObservableCounter('meltproof.shed', { unit: '{request}' })
  const read = (result: BatchObservableResult): void => {
    const delay = loop.delay()
    for (const [figure, instrument] of delays) {
      if (!Number.isNaN(delay[figure])) result.observe(instrument, delay[figure])
    }
    const { active, idle } = loop.time()
    result.observe(time, active, { 'nodejs.eventloop.state': 'active' })
    result.observe(time, idle, { 'nodejs.eventloop.state': 'idle' })
    result.observe(utilization, loop.utilization())
    const stats = guard.stats()
    result.observe(inflight, stats.inflight)
    result.observe(stragglers, stats.stragglers)
    result.observe(abandoned, stats.abandoned)
    result.observe(queued, stats.queued)
    result.observe(limit, stats.limit)
    result.observe(pressure, stats.pressure)
    result.observe(admitted, stats.admitted)
    for (const [reason, count] of Object.entries(stats.shed))
      result.observe(shed, count, { 'meltproof.reason': reason })
  }
  const all = [...delays.map(([, instrument]) => instrument), time, utilization]
  const ours = [inflight, stragglers, abandoned, queued, limit, pressure, admitted, shed]
  meter.addBatchObservableCallback(read, [...all, ...ours])
  return () => meter.removeBatchObservableCallback(read, [...all, ...ours])
}

/**
 * Which span is a request's. It exists only from within Node's `request` event on, where whichever instrumentation
 * made it has it active: so a listener goes first there, from the server's first request on.
 */
function spansOfRequests(api: Api): { of(response: object): Span | undefined; close(): void } {
  const spans = new WeakMap<object, Span>()
  const servers = new Set<Server>()
  const note = (_: object, response: object): void => {
    const span = api.trace.getActiveSpan()
    if (span !== undefined) spans.set(response, span)
  }
  const onStart = (message: unknown): void => {
    const { server } = message as { server: Server }
    if (servers.has(server)) return
    servers.add(server)
    server.prependListener('request', note)
    server.once('close', () => servers.delete(server))
  }
  subscribe('http.server.request.start', onStart)
  return {
    of: response => spans.get(response),
    close: () => {
      unsubscribe('http.server.request.start', onStart)
      for (const server of servers) server.removeListener('request', note)
      servers.clear()
    },
  }
}
