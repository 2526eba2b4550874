/** The access log: a line for each request, whatever the client sent, without secrets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { pino } from 'pino'
import { sheds } from '../../src/channels.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { metrics } from '../../src/observe/prometheus.ts'
import { protect } from '../../src/index.ts'
import {
  type AccessEntry,
  combinedLine,
  isAlwaysLogged,
  jsonLine,
  safeText,
} from '../../src/logging/access-log/access-line.ts'
import { type AccessLogOptions, accessLog } from '../../src/logging/access-log.ts'
import { shareAt } from '../../src/logging/access-log/options.ts'
import { maskedAddress } from '../../src/logging/access-log/redact.ts'
import { eventually } from '../server/harness.ts'

const ENTRY: AccessEntry = {
  arrived: new Date('2026-11-21T10:00:00.000Z'),
  method: 'GET',
  url: '/',
  httpVersion: '1.1',
  route: undefined,
  status: 200,
  outcome: 'answered',
  shedReason: undefined,
  totalMs: 12.345,
  queuedMs: 0,
  stalledMs: 0,
  dependencyMs: 7.891,
  poolMs: 0,
  networkMs: 0,
  ownMs: 4.454,
  lateMs: 0,
  calls: 1,
  verdict: 'dependency',
  remote: '127.0.0.1',
  referer: undefined,
  userAgent: 'curl/8',
  bytes: 5,
  traceId: undefined,
  count: 1,
  sampled: 1,
}

/** Random text in which dangerous characters are frequent. */
const nasty = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\r\n', '\n', '"', '\\', '\u001b[2J', '\u009b', '\u2028', '\u202e', '\ud800', '" 200 5 "'),
    ),
  )
  .map(parts => parts.join(''))
const SAFE = /^[\x20-\x7e\u00a0-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ufefe\uff00-\uffff]*\n$/

describe('a line of the access log', () => {
  it('is JSON with the time that each part took', () => {
    assert.deepEqual(JSON.parse(jsonLine(ENTRY)), {
      time: '2026-11-21T10:00:00.000Z',
      method: 'GET',
      url: '/',
      status: 200,
      outcome: 'answered',
      ms: 12.35,
      dependencyMs: 7.89,
      ownMs: 4.45,
      calls: 1,
      verdict: 'dependency',
      bytes: 5,
      remote: '127.0.0.1',
      userAgent: 'curl/8',
    })
  })

  it("has Apache's combined format", () => {
    assert.equal(
      combinedLine({ ...ENTRY, referer: 'http://x/"q"', userAgent: 'a\\b' }),
      '127.0.0.1 - - [21/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "http://x/\\"q\\"" "a\\\\b"\n',
    )
    assert.match(combinedLine({ ...ENTRY, bytes: 0 }), / 200 - "-" /)
    assert.match(combinedLine({ ...ENTRY, status: 0, outcome: 'aborted', bytes: undefined }), / 499 - "-" /)
  })

  it('is a single printable line with all fields escaped, whatever the client sent', () => {
    fc.assert(
      fc.property(nasty, nasty, nasty, nasty, (method, url, referer, userAgent) => {
        const entry = { ...ENTRY, method, url, referer, userAgent, route: userAgent }
        const json = jsonLine(entry)
        assert.match(json, SAFE)
        const parsed = JSON.parse(json) as Record<string, unknown>
        assert.equal(parsed['url'], safeText(url, 2048))
        assert.equal(parsed['status'], 200)
        const combined = combinedLine(entry)
        assert.match(combined, SAFE)
        // The client's quotes are escaped. Without those, six are left, around three fields.
        const quotes = combined.replace(/\\[\\"]/g, '').match(/"/g)!.length
        assert.equal(quotes, 6)
      }),
      { numRuns: 2000 },
    )
  })

  it('has a bounded length', () => {
    const long = 'x'.repeat(100_000)
    const entry = { ...ENTRY, method: long, url: long, referer: long, userAgent: long }
    assert.ok(jsonLine(entry).length < 8000)
    assert.ok(combinedLine(entry).length < 8000)
  })
})

describe('access log sampling', () => {
  it('falls linearly with pressure', () => {
    const sampling = { calm: 1, pressed: 0.1 }
    assert.deepEqual(
      [0, 0.5, 1, -1, 2].map(p => Math.round(shareAt(sampling, p) * 100)),
      [100, 55, 10, 100, 10],
    )
  })

  it('never drops errors, sheds and aborted requests', () => {
    assert.ok(
      isAlwaysLogged(500, 'answered') &&
        isAlwaysLogged(404, 'answered') &&
        isAlwaysLogged(503, 'shed') &&
        isAlwaysLogged(0, 'aborted'),
    )
    assert.ok(!isAlwaysLogged(200, 'answered') && !isAlwaysLogged(304, 'answered'))
  })
})

describe('masked addresses', () => {
  for (const [full, shown] of [
    ['192.168.7.9', '192.168.7.0'],
    ['::ffff:192.168.7.9', '192.168.7.0'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::'],
    ['2001:db8::6', '2001:db8:0::'],
    ['::1', '0:0:0::'],
    ['fe80::1%eth0', 'fe80:0:0::'],
  ] as const) {
    it(`${full} is shown as ${shown}`, () => assert.equal(maskedAddress(full), shown))
  }
})

const servers: http.Server[] = []
after(() => {
  for (const server of servers) server.closeAllConnections()
  for (const server of servers) server.close()
})

async function serve(options: AccessLogOptions, pressure?: () => number) {
  const server = http.createServer((request, response) => {
    if (request.url === '/error') response.statusCode = 500
    if (request.url === '/never') return
    response.end('hello')
  })
  servers.push(server)
  const guard = protect(server)
  if (pressure !== undefined) guard.pressure = pressure
  const lines: string[] = []
  let arrived = (): void => undefined
  const write = (line: string): void => {
    lines.push(line)
    arrived()
  }
  const close = accessLog(guard, options.logger === undefined ? { write, ...options } : options)
  await once(server.listen(0), 'listening')
  const { port } = server.address() as AddressInfo
  const get = (path: string, headers = {}): Promise<void> =>
    new Promise((resolve, reject) => {
      http
        .get({ port, path, headers, agent: false }, response => response.resume().on('end', resolve))
        .on('error', reject)
    })
  /** The log is written once the response has left, which the client may see first. */
  const until = async (count: number): Promise<string[]> => {
    while (lines.length < count) await new Promise<void>(resolve => (arrived = resolve))
    return lines
  }
  return { get, port, until, lines, close, server, guard }
}

describe('accessLog', () => {
  it('writes a line for each request, without secrets', async () => {
    const { get, until } = await serve({ redact: ['Phone'] })
    await get('/a?token=abc&phone=123', { 'user-agent': 'me', referer: 'http://x/?code=1' })
    const [line] = await until(1)
    const { time, ms, ...rest } = JSON.parse(line!) as Record<string, unknown>
    assert.ok(Math.abs(Date.parse(time as string) - Date.now()) < 60_000)
    assert.ok(Number(ms) >= 0)
    assert.equal(rest['url'], '/a?token=[redacted]&phone=[redacted]')
    assert.equal(rest['referer'], 'http://x/?code=[redacted]')
    assert.deepEqual(
      [rest['method'], rest['status'], rest['outcome'], rest['userAgent'], rest['bytes']],
      ['GET', 200, 'answered', 'me', 'hello'.length],
    )
  })

  it('writes one safe line, whatever is in the request head', async () => {
    const { port, until } = await serve({ format: 'combined' })
    const head = ['GET /"x HTTP/1.1', 'host: x', 'user-agent: a"b\\\tc\u009b', 'connection: close', '', '']
    const socket = net.connect(port)
    socket.write(head.join('\r\n'), 'latin1')
    socket.resume()
    const [line] = await until(1)
    assert.match(line!, SAFE)
  })

  it('samples ordinary requests under pressure, but never errors', async () => {
    const { get, until, lines } = await serve({ sampleUnderPressure: 0 }, () => 1)
    for (let i = 0; i < 20; i++) await get('/')
    await get('/error')
    await until(1)
    assert.equal(lines.length, 1)
    assert.equal((JSON.parse(lines[0]!) as { status: number }).status, 500)
  })

  it('marks a sampled line with its rate', async () => {
    const { get, until } = await serve({ sample: 0.9, sampleUnderPressure: 0.9 })
    for (let i = 0; i < 20; i++) await get('/')
    const [line] = await until(1)
    assert.equal((JSON.parse(line!) as { sampled: number }).sampled, 0.9)
  })

  it('logs a shed with its reason, and sheds that share a record in one line', async () => {
    const { server, guard, lines } = await serve({})
    const request = { method: 'GET', url: '/x?token=1', httpVersion: '1.1', headers: {}, socket: {} }
    const record = { atMs: 0, reason: 'queue', method: 'GET', waitedMs: 3, bytes: 7, count: 1 }
    sheds.publish({ record, server, guard, request: request as never })
    const { status, outcome, shed, url, ms, bytes } = JSON.parse(lines[0]!) as Record<string, unknown>
    assert.deepEqual([status, outcome, shed, url, ms, bytes], [503, 'shed', 'queue', '/x?token=[redacted]', 3, 7])
    sheds.publish({ record: { ...record, count: 4321 }, server, guard, request: undefined })
    const { time, ...several } = JSON.parse(lines[1]!) as Record<string, unknown>
    assert.equal(typeof time, 'string')
    assert.deepEqual(several, {
      method: 'GET',
      count: 4321,
      status: 503,
      outcome: 'shed',
      ms: 3,
      shed: 'queue',
      queuedMs: 3,
      verdict: 'self',
    })
  })

  it('shows in the combined format how many requests share a line', async () => {
    const { server, guard, lines } = await serve({ format: 'combined' })
    const record = { atMs: 0, reason: 'late', method: 'GET', waitedMs: 3, bytes: 0, count: 4321 }
    sheds.publish({ record, server, guard, request: undefined })
    assert.match(lines[0]!, /^- - - \[.*\] "GET - HTTP\/1\.1" 503 - "-" "meltproof \(4321 such requests\)"\n$/)
  })

  it('logs a client that disconnected while it waited', async () => {
    const { server, guard, lines } = await serve({})
    const request = { method: 'GET', url: '/x', httpVersion: '1.1', headers: {}, socket: {} }
    const record = { atMs: 0, reason: 'left', method: 'GET', waitedMs: 30, bytes: 0, count: 1 }
    sheds.publish({ record, server, guard, request: request as never })
    const { status, outcome, shed, queuedMs } = JSON.parse(lines[0]!) as Record<string, unknown>
    assert.deepEqual([status, outcome, shed, queuedMs], [0, 'aborted', undefined, 30])
  })

  it('has the trace id of a valid traceparent, and none of an invalid one', async () => {
    const { get, until } = await serve({})
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    for (const traceparent of [
      `00-${traceId}-b7ad6b7169203331-01`,
      `cc-${traceId}-b7ad6b7169203331-01-what-will-be`,
      `ff-${traceId}-b7ad6b7169203331-01`,
      `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
      `00-${traceId}-${'0'.repeat(16)}-01`,
      `00-${traceId}-b7ad6b7169203331-01\u00e9`,
      'nonsense',
    ]) {
      await get('/', { traceparent })
    }
    const logged = (await until(7)).map(line => (JSON.parse(line) as { traceId?: string }).traceId)
    const none = undefined
    assert.deepEqual(logged, [traceId, traceId, none, none, none, none, none])
  })

  it('logs a client that disconnected before the response', async () => {
    const { port, server, until } = await serve({})
    const socket = net.connect(port)
    socket.write('GET /never HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(server, 'request')
    socket.destroy()
    const [line] = await until(1)
    const { outcome, remote } = JSON.parse(line!) as { outcome: string; remote: string }
    assert.equal(outcome, 'aborted')
    assert.match(remote, /127\.0\.0\.1$/)
  })

  it('logs to pino, by level', async () => {
    const out: { level: number; msg: string; status: number }[] = []
    const logger = pino({}, { write: line => out.push(JSON.parse(line) as never) })
    const { get } = await serve({ logger })
    await get('/')
    await get('/error')
    while (out.length < 2) await new Promise(setImmediate)
    assert.deepEqual(
      out.map(({ level, msg, status }) => [level, msg, status]),
      [
        [30, 'request', 200],
        [50, 'request', 500],
      ],
    )
  })

  it('survives a write() that throws, and warns once', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error): number => warnings.push(warning)
    process.on('warning', onWarning)
    let calls = 0
    const { get } = await serve({
      write() {
        calls++
        throw new Error('mine')
      },
    })
    await get('/')
    await get('/')
    while (calls < 2) await new Promise(setImmediate)
    await new Promise(setImmediate)
    process.off('warning', onWarning)
    assert.equal(warnings.filter(({ name }) => name === 'MeltproofWarning').length, 1)
  })

  it('logs the requests in service or waiting when the guard is closed', async () => {
    const held: http.ServerResponse[] = []
    const server = http.createServer((_, response) => void held.push(response))
    servers.push(server)
    const guard = protect(server, { limit: 1 })
    const lines: string[] = []
    accessLog(guard, { write: line => void lines.push(line), sampleUnderPressure: 1 })
    const figures = metrics(guard)
    await once(server.listen(0), 'listening')
    const { port } = server.address() as AddressInfo
    const sockets = Array.from({ length: 3 }, () => net.connect(port))
    for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\nGET /next HTTP/1.1\r\nhost: x\r\n\r\n')
    await eventually('they wait', () => guard.stats().queued === 3)
    guard.close()
    await eventually('all are started', () => held.length === 6)
    sockets[2]!.destroy()
    for (const response of held) response.end()
    await eventually('all have a line', () => lines.length === 6)
    const [started] = figures.text().match(/^meltproof_admitted_total \d+$/m)!
    figures.close()
    const count = [...figures.text().matchAll(/^http_server_request_duration_seconds_count.* (\d+)$/gm)]
    assert.equal(
      count.reduce((sum, [, n]) => sum + Number(n), 0),
      6,
    )
    assert.equal(started, 'meltproof_admitted_total 6')
  })

  it('stops after close(), and logs only requests of its guard', async () => {
    const one = await serve({})
    const two = await serve({})
    await one.get('/')
    await one.until(1)
    assert.equal(two.lines.length, 0)
    one.close()
    await one.get('/')
    await two.get('/')
    await two.until(1)
    assert.equal(one.lines.length, 1)
  })

  for (const [options, sentence] of [
    [{ sampel: 1 }, /does not know 'sampel'\. Did you mean 'sample'/],
    [{ sample: 2 }, /sample must be a number from 0 to 1; got 2/],
    [{ sample: 0.2, sampleUnderPressure: 0.5 }, /sampleUnderPressure must be a number from 0 to 0\.2/],
    [{ format: 'xml' }, /format must be 'json' or 'combined'/],
    [{ logger: {} }, /logger must be a pino instance/],
    [{ redact: 'token' }, /redact must be an array of names/],
    [{ address: 'half' }, /address must be/],
  ] as const) {
    it(`refuses ${JSON.stringify(options)}`, () => {
      assert.throws(
        () => accessLog({ pressure: () => 0 }, options as never),
        error => isMeltproofError(error) && sentence.test(error.message),
      )
    })
  }
})
