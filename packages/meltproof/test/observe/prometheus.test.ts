import assert from 'node:assert/strict'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { test } from 'node:test'
import { AggregatorRegistry, Gauge, Registry } from 'prom-client'
import { logLosses, sheds } from '../../src/channels.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { limiter } from '../../src/limiter/index.ts'
import { schemeOf } from '../../src/observe/measuring.ts'
import { METRICS } from '../../src/observe/metrics.ts'
import { type MetricsHandler, metrics } from '../../src/observe/prometheus.ts'
import { nameRoute } from '../../src/request-notes.ts'
import { protect } from '../../src/server/protect.ts'
import { eventually, listen } from '../server/harness.ts'
import { block } from '../block.ts'
import { publishCall } from './published.ts'

async function measured(listener: http.RequestListener, options?: Parameters<typeof metrics>[1]) {
  const server = http.createServer(listener)
  const guard = protect(server)
  const handler = metrics(guard, options)
  const { port } = await listen(server)
  return { handler, guard, url: `http://127.0.0.1:${port}` }
}

function requestLabels(status: string, error: string, route = ''): string {
  const labels = `http_request_method="GET",url_scheme="http",http_response_status_code="${status}",error_type="${error}"`
  return `${labels},http_route="${route}"`
}

/** The value of the sample whose line starts with `start`. */
function value(handler: MetricsHandler, start: string): number | undefined {
  const line = handler
    .text()
    .split('\n')
    .find(text => text.startsWith(start))
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ') + 1))
}

test('requests are counted by route, status and verdict, next to figures of the guard and the event loop', async () => {
  const { handler, url } = await measured(
    (request, response) => {
      nameRoute(request, '/users/:id')
      response.statusCode = 404
      setTimeout(() => response.end(), 250)
    },
    { slowMs: 50 },
  )
  for (let id = 0; id < 3; id++) await fetch(`${url}/users/${id}`).then(answer => answer.text())
  // On a busy machine these may have the verdict `loop`. The verdict's tests use a fake clock to check which one is
  // right.
  const slow = (verdict: string): number => value(handler, `meltproof_slow_requests_total{verdict="${verdict}"}`) ?? 0
  await eventually('three slow requests', () => slow('self') + slow('loop') === 3)
  const labels = `{${requestLabels('404', '', '/users/:id')}`
  assert.equal(value(handler, `http_server_request_duration_seconds_count${labels}`), 3)
  assert.equal(value(handler, `http_server_request_duration_seconds_bucket${labels},le="0.05"`), 0)
  assert.equal(value(handler, `http_server_request_duration_seconds_bucket${labels},le="10"`), 3)
  const share = (part: string): number =>
    value(handler, `meltproof_request_share_seconds_total{http_route="/users/:id",part="${part}"}`)!
  assert.ok(share('self') > 0)
  const seconds = share('self') + share('loop')
  assert.ok(seconds > 0.7 && seconds < 10, `three requests of 250 ms: ${seconds} s`)
  assert.equal(value(handler, 'meltproof_admitted_total'), 3)
  assert.equal(value(handler, 'meltproof_shed_total{reason="late"'), 0)
  assert.ok(value(handler, 'nodejs_eventloop_time_seconds_total{nodejs_eventloop_state="active"}')! > 0)
  assert.ok(value(handler, 'nodejs_eventloop_utilization_ratio')! <= 1)
  await eventually('a delay was seen', () => value(handler, 'nodejs_eventloop_delay_max_seconds')! > 0)
  handler.close()
})

test('calls are counted by peer and verdict, and lost log lines by stream', async () => {
  const { handler } = await measured((_, response) => response.end())
  await publishCall(400)
  await publishCall(400, { serverTiming: 'total;dur=5' })
  await publishCall(20, { kind: 'pg', peer: 'db.example:5432/shop', operation: 'query', status: undefined })
  logLosses.publish({ stream: 'stdout', lines: 7, bytes: 700 })
  // After a stall by other processes the verdict is `loop`. The timeline's tests check which one is right.
  const slow = (): number =>
    ['dependency', 'network', 'loop']
      .map(
        verdict => value(handler, `meltproof_slow_calls_total{peer="http://peer.example:8080",verdict="${verdict}"}`)!,
      )
      .reduce((sum, count) => sum + count)
  assert.equal(slow(), 2)
  const client = 'http_client_request_duration_seconds_count{http_request_method="GET",server_address="peer.example",'
  assert.equal(value(handler, client), 2)
  assert.equal(value(handler, 'meltproof_dependency_duration_seconds_count{peer="db.example:5432/shop"}'), 1)
  assert.equal(value(handler, 'meltproof_log_lines_lost_total{stream="stdout"}'), 7)
  handler.close()
  await publishCall(400)
  assert.equal(slow(), 2, 'closed: counts no more')
})

test('no series appears twice, although OpenTelemetry has more labels', async () => {
  const { handler } = await measured((_, response) => response.end())
  for (const errorCode of ['ECONNREFUSED', 'ETIMEDOUT', 'ECONNRESET']) {
    await publishCall(4, { status: undefined, outcome: 'failed', errorCode, firstByteAtMs: undefined })
  }
  await publishCall(4, { status: 502 })
  const names = handler
    .text()
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => line.slice(0, line.lastIndexOf(' ')))
  assert.equal(new Set(names).size, names.length)
  for (const [status, error] of [
    ['', 'ECONNREFUSED'],
    ['', 'ECONNRESET'],
    ['502', '502'],
  ]) {
    const labels = `server_address="peer.example",server_port="8080",http_response_status_code="${status}",error_type="${error}"`
    assert.equal(value(handler, `http_client_request_duration_seconds_count{http_request_method="GET",${labels}`), 1)
  }
  handler.close()
})

test('series stay bounded, whatever clients request', async () => {
  const { handler, url } = await measured((_, response) => response.end(), {
    route: request => request.url,
    mostNames: 5,
  })
  for (let i = 0; i < 40; i++) await fetch(`${url}/item/${i}`, { method: i % 2 === 0 ? 'GET' : 'PURGE' })
  for (let i = 0; i < 40; i++) await publishCall(1, { peer: `http://host-${i}.example`, operation: `M${i}` })
  await eventually('all requests', () => handler.text().includes('part="self"'))
  const routes = new Set([...handler.text().matchAll(/http_route="([^"]*)"/g)].map(match => match[1]))
  const peers = new Set([...handler.text().matchAll(/peer="([^"]*)"/g)].map(match => match[1]))
  const methods = new Set([...handler.text().matchAll(/http_request_method="([^"]*)"/g)].map(match => match[1]))
  assert.equal(routes.size, 6)
  assert.equal(peers.size, 6)
  assert.ok(routes.has('other') && peers.has('other'))
  assert.deepEqual([...methods].sort(), ['GET', '_OTHER'])
  handler.close()
})

test('a route hook that throws leaves the route empty', async () => {
  const { handler, url } = await measured((_, response) => response.end(), {
    route: () => {
      throw new Error('no name')
    },
  })
  await fetch(url).then(answer => answer.text())
  const count = `http_server_request_duration_seconds_count{${requestLabels('200', '')}} 1`
  await eventually('the request', () => handler.text().includes(count))
  handler.close()
})

test('the handler answers GET with a scrape, and POST with a 405', async () => {
  const { handler } = await measured((_, response) => response.end())
  const { port } = await listen(http.createServer(handler))
  const scrape = await fetch(`http://127.0.0.1:${port}/metrics`)
  assert.equal(scrape.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  assert.match(await scrape.text(), /^meltproof_limit \d+/m)
  assert.equal((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' })).status, 405)
  handler.close()
})

test('prom-client gets the same families in addition to those of the app', async () => {
  const register = new Registry()
  const { handler, url } = await measured((_, response) => response.end(), { register })
  await fetch(url).then(answer => answer.text())
  await eventually('the request', () => value(handler, 'meltproof_admitted_total') === 1)
  const theirs = await register.metrics()
  const count = `http_server_request_duration_seconds_count{${requestLabels('200', '')}} 1`
  await eventually('its record', () => handler.text().includes(count))
  assert.ok((await register.metrics()).includes(count), theirs)
  assert.match(theirs, /# TYPE http_server_request_duration_seconds histogram/)
  assert.match(theirs, /^meltproof_admitted_total 1$/m)
  handler.close()
  assert.equal(await register.metrics(), '\n')
})

test('a registry that already has one of the metrics gets none, and nothing is measured', () => {
  const register = new Registry()
  const name = METRICS.at(-1)!.prometheus
  new Gauge({ name, help: 'of the app', registers: [register] })
  const guard = protect(http.createServer())
  const measuresBefore = logLosses.hasSubscribers
  assert.throws(
    () => metrics(guard, { register }),
    (error: unknown) => {
      assert.ok(isMeltproofError(error))
      assert.equal(error.code, 'MELTPROOF_OPTION_INVALID')
      assert.match((error.cause as Error).message, /already been registered/)
      return error.message.startsWith(`register did not accept the metric ${name}: `)
    },
  )
  assert.equal(logLosses.hasSubscribers, measuresBefore)
  assert.deepEqual(
    register.getMetricsAsArray().map(metric => metric.name),
    [name],
  )
})

test('sheds and clients that left are in the histogram of requests, and waits of sheds in that of waits', async () => {
  const server = http.createServer(() => undefined)
  const guard = protect(server, { limit: 1 })
  const handler = metrics(guard)
  const { connect } = await listen(server)
  const clients = await Promise.all(Array.from({ length: 60 }, () => connect()))
  const [first, ...waiting] = clients
  first!.get('/')
  await eventually('it is served', () => guard.stats().inflight === 1)
  for (const client of waiting) client.get('/')
  await eventually('they wait', () => guard.stats().queued === 59)
  for (const client of waiting.slice(49)) client.destroy()
  // None is served, so each is shed after the longest wait, 2 s.
  await eventually('all others are shed', () => guard.stats().shed.late === 49)
  const counted = (start: string): number | undefined => value(handler, start)
  const requests = 'http_server_request_duration_seconds_count'
  const all = [
    [`${requests}{${requestLabels('503', 'shed')}`, 49],
    [`${requests}{${requestLabels('', 'aborted')}`, 10],
    ['meltproof_queue_wait_seconds_count{outcome="shed"}', 49],
  ] as const
  await eventually('all requests are counted', () => all.every(([start, count]) => counted(start) === count))
  assert.equal(counted('meltproof_queue_wait_seconds_bucket{outcome="shed",le="0.75"}'), 0)
  assert.equal(counted('meltproof_shed_total{reason="late",dry_run="false"}'), 49)
  assert.equal(counted('meltproof_left_total'), 10)
  assert.equal(counted('meltproof_dry_run'), 0)
  handler.close()
})

test('the url_scheme is that of the server', () => {
  assert.equal(schemeOf(http.createServer()), 'http')
  assert.equal(schemeOf(https.createServer()), 'https')
  assert.equal(schemeOf(http2.createServer() as never), 'http')
  assert.equal(schemeOf(http2.createSecureServer() as never), 'https')
})

test('metrics of all guards contain the sheds of each, with the scheme of its server', () => {
  const handler = metrics({ ...protect(http.createServer()), ofAll: true })
  const record = { atMs: 0, reason: 'full', method: 'GET', waitedMs: 0, bytes: 0, count: 2 }
  for (const server of [http.createServer(), https.createServer()]) {
    sheds.publish({ record, guard: protect(server), server, request: undefined })
  }
  const count = `http_server_request_duration_seconds_count{${requestLabels('503', 'shed')}`
  assert.deepEqual([value(handler, count), value(handler, count.replace('="http"', '="https"'))], [2, 2])
  handler.close()
})

test('a dry run is labelled as such, and counts no 503', async () => {
  const server = http.createServer(() => undefined)
  const guard = protect(server, { limit: 1, dryRun: true })
  const handler = metrics(guard)
  const { connect } = await listen(server)
  for (let i = 0; i < 3; i++) (await connect()).get('/')
  await eventually('it would have shed', () => guard.stats().shed.late > 0)
  assert.ok(value(handler, 'meltproof_shed_total{reason="late",dry_run="true"}')! > 0)
  assert.equal(value(handler, 'meltproof_dry_run'), 1)
  assert.ok(!handler.text().includes('"503"'))
  handler.close()
})

test('draining and exempt requests are counted', async () => {
  const server = http.createServer((_, response) => response.end())
  const guard = protect(server, { exempt: ['/health'], drainDelayMs: 0 })
  const handler = metrics(guard)
  const { port } = await listen(server)
  await fetch(`http://127.0.0.1:${port}/health`).then(answer => answer.text())
  assert.equal(value(handler, 'meltproof_exempt_total'), 1)
  assert.equal(value(handler, 'meltproof_draining'), 0)
  const drained = guard.drain(5000)
  assert.equal(value(handler, 'meltproof_draining'), 1)
  await drained
  handler.close()
})

test('a second scrape sees the same event loop delay as the first', async () => {
  const { handler } = await measured((_, response) => response.end())
  block(200)
  await eventually('the stall is seen', () => value(handler, 'nodejs_eventloop_delay_max_seconds')! > 0.15)
  assert.ok(value(handler, 'nodejs_eventloop_delay_max_seconds')! > 0.15)
  assert.ok(value(handler, 'meltproof_loop_delay_seconds_sum')! > 0.15)
  handler.close()
})

test('the cluster aggregator of prom-client sums counters, and takes the worst or the mean of the others', async () => {
  const registers = [new Registry(), new Registry()]
  const workers = await Promise.all(registers.map(register => measured((_, response) => response.end(), { register })))
  for (const [i, { url }] of workers.entries()) {
    for (let n = 0; n <= i; n++) await fetch(url).then(answer => answer.text())
  }
  // The loop has no delays before its first beat.
  await eventually('all are counted', () =>
    workers.every(
      ({ handler }) =>
        handler.text().includes('status_code="200"') && /^nodejs_eventloop_delay_p99_seconds/m.test(handler.text()),
    ),
  )
  const lists = await Promise.all(registers.map(register => register.getMetricsAsJSON()))
  const of = (list: readonly Figures[], name: string): number[] =>
    list.filter(metric => metric.name === name).flatMap(({ values }) => values.map(each => each.value))
  const together = (await AggregatorRegistry.aggregate(lists as never).getMetricsAsJSON()) as unknown as Figures[]
  const single = lists as unknown as Figures[][]
  assert.deepEqual(of(together, 'meltproof_admitted_total'), [3])
  assert.deepEqual(of(together, 'meltproof_limit'), [
    single.flatMap(list => of(list, 'meltproof_limit')).reduce((a, b) => a + b),
  ])
  for (const [name, join] of [
    ['nodejs_eventloop_delay_p99_seconds', (a: number, b: number) => Math.max(a, b)],
    ['nodejs_eventloop_delay_min_seconds', (a: number, b: number) => Math.min(a, b)],
    ['nodejs_eventloop_utilization_ratio', (a: number, b: number) => (a + b) / 2],
    ['meltproof_pressure', (a: number, b: number) => Math.max(a, b)],
  ] as const) {
    assert.deepEqual(of(together, name), [single.flatMap(list => of(list, name)).reduce(join)], name)
  }
  for (const { handler } of workers) handler.close()
})

interface Figures {
  readonly name: string
  readonly values: readonly { readonly value: number }[]
}

test('invalid options throw an error with a code', () => {
  const guard = protect(http.createServer())
  const code = (expected: string) => (error: unknown) => isMeltproofError(error) && error.code === expected
  assert.throws(() => metrics(guard, { slowMS: 1 } as object), code('MELTPROOF_OPTION_UNKNOWN'))
  assert.throws(() => metrics(guard, { slowMs: 0 }), code('MELTPROOF_OPTION_INVALID'))
  assert.throws(() => metrics(guard, { register: {} as never }), /a registry of prom-client 15/)
  assert.throws(() => metrics(undefined as never), /the guard that protect\(\) returned/)
})

test('a scrape on the port of the service is answered during overload', async () => {
  const server = http.createServer()
  const guard = protect(server, { limit: 1, exempt: ['/metrics'] })
  const handler = metrics(guard)
  const unanswered: http.ServerResponse[] = []
  server.on('request', (request, response) => {
    if (request.url === '/metrics') handler(request, response)
    else unanswered.push(response)
  })
  const service = await listen(server)
  for (let i = 0; i < 20; i++) (await service.connect()).get('/work')
  // None leaves, so each is shed after the longest wait, 2 s.
  await eventually('a request was shed', () => guard.stats().shed.late > 0)
  assert.equal(guard.stats().inflight, 1)
  const scrape = await fetch(`http://127.0.0.1:${service.port}/metrics`)
  assert.equal(scrape.status, 200)
  assert.match(await scrape.text(), /^meltproof_shed_total\{reason="late",dry_run="false"\} [1-9]/m)
  for (const response of unanswered) response.end()
  handler.close()
})

test('a named limiter is in the metrics until it is closed, and of two with the same name the later wins', async () => {
  const { handler } = await measured((_, response) => response.end())
  const line = (limiter: string): number | undefined =>
    value(handler, `meltproof_limiter_admitted_total{limiter="${limiter}"}`)
  const first = limiter({ name: 'orders' })
  await first.run(() => 1)
  assert.equal(line('orders'), 1)
  assert.equal(value(handler, 'meltproof_limiter_shed_total{limiter="orders",reason="late"}'), 0)
  const second = limiter({ name: 'orders' })
  first.close()
  assert.equal(line('orders'), 0)
  second.close()
  assert.equal(line('orders'), undefined)
  const many = Array.from({ length: 101 }, (_, i) => limiter({ name: `tenant ${i}` }))
  assert.deepEqual([line('tenant 99'), line('tenant 100')], [0, undefined])
  for (const each of many) each.close()
  handler.close()
})
