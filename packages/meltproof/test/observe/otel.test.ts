import assert from 'node:assert/strict'
import http from 'node:http'
import { after, test } from 'node:test'
import { context, metrics, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { watchStalls } from '../../src/culprit/index.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { limiter } from '../../src/limiter/index.ts'
import { namePool, type PoolFigures } from '../../src/named-figures.ts'
import { METRICS } from '../../src/observe/metrics.ts'
import { instrument } from '../../src/observe/otel.ts'
import { openTelemetryApi } from '../../src/observe/peer.ts'
import { nameRoute } from '../../src/request-notes.ts'
import { protect } from '../../src/server/protect.ts'
import { stallNaming } from '../../src/signals/named-stalls.ts'
import { eventually, listen } from '../server/harness.ts'
import { publishCall } from './published.ts'

const STALL = {
  ...{ place: 'render, src/a.js:88', route: 'GET /invoices' },
  ...{ traceId: undefined, requestId: undefined, request: undefined },
}
const counted = ({ value }: Point): boolean => value === 1
const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 60_000 })
const meters = new MeterProvider({ readers: [reader] })
metrics.setGlobalMeterProvider(meters)
const spanExporter = new InMemorySpanExporter()
const tracers = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spanExporter)] })
tracers.register()
after(async () => {
  await meters.shutdown()
  await tracers.shutdown()
})

interface Point {
  readonly attributes: Record<string, unknown>
  readonly value: unknown
}

/** Collects now. Returns points by the name of their metric. */
async function collected(): Promise<Map<string, { unit: string; points: Point[] }>> {
  metricExporter.reset()
  await reader.forceFlush()
  const found = new Map<string, { unit: string; points: Point[] }>()
  for (const { scopeMetrics } of metricExporter.getMetrics()) {
    for (const { metrics: list } of scopeMetrics) {
      for (const { descriptor, dataPoints } of list) {
        found.set(descriptor.name, { unit: descriptor.unit, points: dataPoints as unknown as Point[] })
      }
    }
  }
  return found
}

/** Creates a span for each request like instrumentations do: wraps emit, and ends the span with the response. */
function traced(server: http.Server): void {
  const emit = server.emit as (this: http.Server, event: string, ...args: unknown[]) => boolean
  server.emit = function (this: http.Server, event: string, ...args: unknown[]) {
    if (event !== 'request') return emit.call(this, event, ...args)
    const span = trace.getTracer('test').startSpan('request')
    ;(args[1] as http.ServerResponse).once('close', () => span.end())
    return context.with(trace.setSpan(context.active(), span), () => emit.call(this, event, ...args))
  } as typeof server.emit
}

test('instrument() exports metrics by the semantic conventions, and verdicts and stalls on spans', async t => {
  stallNaming.figures = {
    seconds: () => ({ 'render, src/a.js:88': 2 }),
    between: fromMs => [{ ...STALL, fromMs, toMs: fromMs + 80 }],
    explain: () => '',
  }
  t.after(() => {
    stallNaming.figures = undefined
  })
  const server = http.createServer((request, response) => {
    nameRoute(request, '/slow')
    setTimeout(() => response.end(), 250)
  })
  traced(server)
  const guard = protect(server)
  const stop = instrument(guard, { slowMs: 50 })
  const jobs = limiter({ name: 'jobs' })
  const pool = (): PoolFigures => ({ name: 'db:5432/shop', used: 2, waiting: 1, most: 5 })
  namePool(pool)
  const { port } = await listen(server)
  await fetch(`http://127.0.0.1:${port}/slow?x=1`).then(answer => answer.text())
  await publishCall(400, { serverTiming: 'total;dur=399' })
  await eventually('the span has ended', () => spanExporter.getFinishedSpans().length === 1)
  const found = await collected()

  const duration = found.get('http.server.request.duration')
  assert.equal(duration?.unit, 's')
  assert.deepEqual(duration?.points[0]?.attributes, {
    'http.request.method': 'GET',
    'url.scheme': 'http',
    'http.response.status_code': 200,
    'http.route': '/slow',
  })
  const calls = found.get('http.client.request.duration')?.points ?? []
  assert.deepEqual(calls.find(({ attributes }) => attributes['server.address'] === 'peer.example')?.attributes, {
    'http.request.method': 'GET',
    'server.address': 'peer.example',
    'server.port': 8080,
    'http.response.status_code': 200,
  })
  const ofPeer = found
    .get('meltproof.slow_calls')
    ?.points.filter(({ attributes }) => attributes['meltproof.peer'] === 'http://peer.example:8080')
  assert.deepEqual(ofPeer?.find(counted)?.attributes, {
    'meltproof.peer': 'http://peer.example:8080',
    'meltproof.verdict': 'dependency',
  })
  for (const { otel, unit } of METRICS) {
    const nobodyWaited = otel === 'meltproof.queue_wait'
    if (!nobodyWaited) assert.equal(found.get(otel)?.unit, unit, otel)
  }
  assert.equal(found.get('meltproof.admitted')?.points[0]?.value, 1)
  const lent = found.get('db.client.connection.count')?.points[0]
  assert.equal(lent?.value, 2)
  assert.deepEqual(lent?.attributes, {
    'db.client.connection.pool.name': pool().name,
    'db.client.connection.state': 'used',
  })
  assert.deepEqual(found.get('meltproof.limiter.admitted')?.points[0]?.attributes, { 'meltproof.limiter.name': 'jobs' })
  jobs.close()

  const { attributes } = spanExporter.getFinishedSpans()[0]!
  const verdict = attributes['meltproof.verdict']
  assert.ok(verdict === 'self' || verdict === 'loop', `${verdict}: on a busy machine the delay may be the loop's`)
  assert.deepEqual(found.get('meltproof.slow_requests')?.points.find(counted)?.attributes, {
    'meltproof.verdict': verdict,
  })
  assert.ok((attributes['meltproof.own_ms'] as number) > 0)
  assert.equal(attributes['http.route'], '/slow')
  assert.equal(attributes['meltproof.stall'], 'waited 80 ms for GET /invoices: render, src/a.js:88')
  stop()
  await publishCall(400)
  assert.equal(server.listenerCount('request'), 1)
})

test('a request that blocked the loop has the place on its span, and so has one that waited', {
  timeout: 60_000,
}, async () => {
  const waiting: http.ServerResponse[] = []
  function renderInvoices(): void {
    const until = performance.now() + 300
    while (performance.now() < until) Math.random()
  }
  const server = http.createServer((request, response) => {
    if (request.url === '/waits') {
      waiting.push(response)
      return
    }
    renderInvoices()
    response.end()
    for (const each of waiting.splice(0)) each.end()
  })
  traced(server)
  const guard = protect(server)
  const stop = instrument(guard)
  const stopNaming = watchStalls({ onWarning: () => undefined })
  const { port } = await listen(server)
  const get = (path: string): Promise<string> => fetch(`http://127.0.0.1:${port}${path}`).then(answer => answer.text())
  const place = String.raw`renderInvoices, .*otel\.test\.ts:\d+(?:-\d+)?$`
  const isNamed = [new RegExp(`^ran \\d+ ms: ${place}`), new RegExp(`^waited \\d+ ms for GET /invoices: ${place}`)]
  let texts: string[] = []
  // On a busy machine a stall may be unknown.
  while (!isNamed.every(each => texts.some(text => each.test(text)))) {
    spanExporter.reset()
    const waited = get('/waits')
    await eventually('it waits', () => waiting.length === 1)
    await Promise.all([waited, get('/invoices')])
    await eventually('the spans have ended', () => spanExporter.getFinishedSpans().length === 2)
    texts = spanExporter.getFinishedSpans().map(({ attributes }) => String(attributes['meltproof.stall']))
  }
  stopNaming()
  stop()
  guard.close()
})

test('with httpMetrics: false, requests are not counted', async () => {
  const server = http.createServer((_, response) => response.end())
  const guard = protect(server)
  const stop = instrument(guard, { httpMetrics: false })
  const { port } = await listen(server)
  const before = (await collected()).get('http.server.request.duration')?.points.length
  await fetch(`http://127.0.0.1:${port}/`, { method: 'DELETE' }).then(answer => answer.text())
  assert.equal((await collected()).get('http.server.request.duration')?.points.length, before)
  stop()
})

test('with httpMetrics: false, sheds are counted, and at most one a second gets a span', async () => {
  const server = http.createServer(() => undefined)
  const guard = protect(server, { limit: 1 })
  const stop = instrument(guard, { httpMetrics: false })
  const { connect } = await listen(server)
  spanExporter.reset()
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const clients = await Promise.all(Array.from({ length: 100 }, () => connect()))
  for (const client of clients) client.get('/cart?id=1', `traceparent: 00-${traceId}-b7ad6b7169203331-01`)
  await eventually('they are shed', () => guard.stats().shed.late === 99)
  stop()
  guard.close()
  const points = (await collected()).get('http.server.request.duration')?.points
  const shed = points?.find(({ attributes }) => attributes['error.type'] === 'shed')
  assert.deepEqual(shed?.attributes, {
    'http.request.method': 'GET',
    'url.scheme': 'http',
    'http.response.status_code': 503,
    'error.type': 'shed',
  })
  const spans = spanExporter.getFinishedSpans()
  assert.ok(spans.length >= 1 && spans.length <= 3, `${spans.length} spans`)
  const [span] = spans
  assert.equal(span!.name, 'GET')
  assert.equal(span!.spanContext().traceId, traceId)
  assert.equal(span!.status.code, SpanStatusCode.ERROR)
  const { 'meltproof.queued_ms': queuedMs, 'meltproof.count': count, ...attributes } = span!.attributes
  assert.ok((queuedMs as number) > 700 && (count as number) >= 1)
  assert.deepEqual(attributes, {
    'http.request.method': 'GET',
    'http.response.status_code': 503,
    'url.path': '/cart',
    'url.scheme': 'http',
    'error.type': 'shed',
    'meltproof.reason': 'late',
  })
})

test('a missing peer dependency throws an error that names the command to install it', () => {
  const missing = (): never => {
    throw Object.assign(new Error('Cannot find package'), { code: 'MODULE_NOT_FOUND' })
  }
  assert.throws(
    () => openTelemetryApi(missing),
    (error: unknown) =>
      isMeltproofError(error) &&
      error.code === 'MELTPROOF_PEER_MISSING' &&
      error.message ===
        'meltproof/otel needs the package @opentelemetry/api, which is not installed here: npm install @opentelemetry/api',
  )
})
