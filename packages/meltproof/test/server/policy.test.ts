/** The operator's policies for single requests: exempt paths, readiness, criticality, a dry run. Also draining. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { STANDING_TUNING } from '../../src/admission/queue/standing-queue.ts'
import { type ProtectOptions, pressureOf, protect } from '../../src/index.ts'
import type { Guard } from '../../src/server/guard.ts'
import { Holding, eventually, type Service, listen } from './harness.ts'

interface Protected extends Service {
  readonly guard: Guard
  readonly holding: Holding
  readonly warnings: string[]
}

async function openProtected(options: ProtectOptions = {}): Promise<Protected> {
  const holding = new Holding()
  const server = http.createServer(holding.handler)
  const warnings: string[] = []
  const guard = protect(server, { lanes: 1, limit: 1, onWarning: warning => warnings.push(warning), ...options })
  return { ...(await listen(server)), guard, holding, warnings }
}

/** One request in service and one waiting. */
async function fill(service: Protected): Promise<void> {
  ;(await service.connect()).get('/in-service')
  await service.holding.take('/in-service')
  ;(await service.connect()).get('/waiting')
  await eventually('a request waits', () => service.guard.stats().queued === 1)
}

describe('exempt requests', () => {
  for (const [what, exempt] of [
    ['by path', ['/health', '/internal/*']],
    ['by a function', (request: http.IncomingMessage) => /^\/(health|internal)/.test(request.url!)],
  ] as const) {
    it(`start at once while others wait: ${what}`, async () => {
      const service = await openProtected({ exempt })
      await fill(service)
      for (const path of ['/health?deep=1', '/internal/metrics']) {
        const client = (await service.connect()).get(path)
        const { response } = await service.holding.take(path)
        response.end('well')
        assert.equal((await client.answer()).body, 'well')
      }
      const { exempt: counted, inflight, queued } = service.guard.stats()
      assert.deepEqual({ counted, inflight, queued }, { counted: 2, inflight: 1, queued: 1 })
    })
  }

  it('none if the function is async: its rejection is handled, with one warning', async () => {
    const service = await openProtected({ exempt: (async () => Promise.reject(new Error('late'))) as never })
    await fill(service)
    assert.equal(service.warnings.length, 1)
    assert.match(service.warnings[0]!, /^the exempt function returned a promise/)
  })

  it('none if the function throws, with one warning', async () => {
    const service = await openProtected({
      exempt: () => {
        throw new Error('bad rule')
      },
    })
    await fill(service)
    assert.equal(service.warnings.length, 1)
    assert.match(service.warnings[0]!, /bad rule/)
  })
})

describe('the readiness page', () => {
  it('stays ready while requests wait, and shows the pressure', async () => {
    const service = await openProtected({ readiness: '/ready' })
    await fill(service)
    const answer = await (await service.connect()).get('/ready').answer()
    assert.equal(answer.status, 200)
    const { pressure, ...rest } = JSON.parse(answer.body)
    assert.deepEqual(rest, { ready: true, draining: false, inflight: 1, queued: 1 })
    assert.ok(pressure > 0)
  })

  it('is not ready above unreadyAbovePressure', async () => {
    const service = await openProtected({ readiness: { path: '/ready', unreadyAbovePressure: 0 } })
    assert.equal((await (await service.connect()).get('/ready').answer()).status, 200)
    await fill(service)
    assert.equal((await (await service.connect()).get('/ready').answer()).status, 503)
  })
})

describe('drain()', () => {
  it('reports draining, serves the requests in service and waiting, and resolves when they have ended', async () => {
    const service = await openProtected({ readiness: '/ready' })
    const probe = await service.connect()
    await once(probe.get('/ready').socket, 'data')
    const client = (await service.connect()).get('/slow')
    const { response } = await service.holding.take('/slow')
    const unready = (await service.connect()).get('/still')
    await eventually('it waits', () => service.guard.stats().queued === 1)
    const drained = service.guard.drain(10_000)
    assert.equal(service.guard.drain(), drained)
    assert.equal(service.guard.stats().draining, true)
    response.end('slow')
    assert.equal((await client.answer()).body, 'slow')
    const next = await service.holding.take('/still')
    next.response.end('still')
    assert.equal((await unready.answer()).body, 'still')
    assert.equal(await drained, true)
    assert.equal(service.server.listening, false)
  })

  it('sheds waiting requests and cuts the others at its timeout', async () => {
    const service = await openProtected()
    ;(await service.connect()).get('/for-ever')
    await service.holding.take('/for-ever')
    const waiting = (await service.connect()).get('/waiting')
    await eventually('it waits', () => service.guard.stats().queued === 1)
    assert.equal(await service.guard.drain(20), false)
    assert.equal((await waiting.answer()).status, 503)
    assert.equal(service.guard.stats().shed.closing, 1)
    assert.match(service.guard.explain(), /a drain was under way/)
    await waiting.closed
  })

  it('resolves false if it cut a stream that was still sending', async () => {
    const service = await openProtected()
    const client = (await service.connect()).get('/stream')
    const { response } = await service.holding.take('/stream')
    response.write('part')
    await eventually('it flows', () => client.received.includes('part'))
    assert.equal(await service.guard.drain(50), false)
    await client.closed
  })

  it('rejects an invalid timeout', async () => {
    const service = await openProtected()
    for (const time of [-1, Number.NaN, 4e6, '5s']) {
      assert.throws(() => service.guard.drain(time as number), /drain\(timeoutMs\) must be/)
    }
  })
})

describe('criticality', () => {
  /** Returns the order of service when all requests wait behind one in service. */
  async function served(options: ProtectOptions, requests: readonly (readonly string[])[]): Promise<string[]> {
    const service = await openProtected(options)
    ;(await service.connect()).get('/first')
    const first = await service.holding.take('/first')
    for (const [path, ...headers] of requests) {
      const before = service.guard.stats().queued
      ;(await service.connect()).get(path!, ...headers)
      await eventually('it waits', () => service.guard.stats().queued === before + 1)
    }
    first.response.end()
    for (let i = 0; i < requests.length; i++) (await service.holding.take()).response.end()
    assert.deepEqual(service.warnings.length <= 1, true)
    return service.holding.started.slice(1)
  }

  it('in the configured header determines the order of service', async () => {
    assert.deepEqual(
      await served({ criticalityHeader: 'X-Criticality' }, [
        ['/low', 'x-criticality: sheddable'],
        ['/usual'],
        ['/high', 'x-criticality: critical_plus'],
        ['/odd', 'x-criticality: very'],
      ]),
      ['/high', '/usual', '/odd', '/low'],
    )
  })

  it('in a header that is not configured changes nothing', async () => {
    assert.deepEqual(
      await served({}, [
        ['/a', 'x-criticality: sheddable'],
        ['/b', 'x-criticality: critical_plus'],
      ]),
      ['/a', '/b'],
    )
  })

  it('comes from the function, and is the default if the function fails', async () => {
    const criticality = (request: http.IncomingMessage) => {
      if (request.url === '/throws') throw new Error('no idea')
      if (request.url === '/odd') throw Object.create(null)
      if (request.url === '/nonsense') return 7 as never
      return request.url === '/low' ? ({ criticality: 'sheddable', key: 'somebody' } as const) : undefined
    }
    assert.deepEqual(await served({ criticality }, [['/low'], ['/odd'], ['/throws'], ['/nonsense'], ['/usual']]), [
      '/odd',
      '/throws',
      '/nonsense',
      '/usual',
      '/low',
    ])
  })
})

describe('a dry run', () => {
  it('starts every request, and counts those that would have been shed', async () => {
    const service = await openProtected({ dryRun: true })
    const clients = []
    for (const path of ['/a', '/b', '/c']) {
      clients.push((await service.connect()).get(path))
      await eventually('it started', () => service.holding.started.includes(path))
    }
    await eventually('two have waited too long', () => service.guard.stats().shed.late === 2)
    for (const client of clients) {
      const { response } = await service.holding.take()
      response.end('served')
      assert.equal((await client.answer()).status, 200)
    }
    assert.equal(service.guard.stats().dryRun, true)
    assert.equal(service.guard.stats().shed.late, 2)
    assert.match(service.guard.explain(), /would have been shed/)
    await eventually('nothing is in service', () => service.guard.stats().inflight === 0)
  })

  it('gives each request that would have waited a permit in its turn, and takes it back', async () => {
    const service = await openProtected({ dryRun: true })
    const clients = []
    for (const path of ['/a', '/b', '/c']) {
      clients.push((await service.connect()).get(path))
      await eventually('it started', () => service.holding.started.includes(path))
    }
    assert.equal(service.guard.stats().queued, 2)
    for (const client of clients) {
      ;(await service.holding.take()).response.end()
      await client.answer()
    }
    await eventually('all is over', () => service.guard.stats().inflight === 0 && service.guard.stats().queued === 0)
    assert.equal(service.guard.stats().admitted, 3)
  })

  it('counts as many sheds as a real run: shadows hold permits for the time that handlers took', async () => {
    // One at a time: the second starts within the longest wait, the others do not.
    const serviceMs = 0.6 * STANDING_TUNING.maxWaitMs
    const server = http.createServer((_, response) => void setTimeout(() => response.end('served'), serviceMs))
    const guard = protect(server, { lanes: 1, limit: 1, dryRun: true })
    const service = await listen(server)
    const clients = await Promise.all(Array.from({ length: 5 }, () => service.connect()))
    for (const client of clients) client.get('/')
    for (const client of clients) assert.equal((await client.answer()).status, 200)
    await eventually('no request waits', () => guard.stats().queued === 0 && guard.stats().inflight === 0)
    const { shed } = guard.stats()
    assert.equal(shed.late + shed.stale + shed.standing, 3)
  })

  it('does not count requests that Node refuses for a missing Host, and holds no permits for them', async () => {
    const service = await openProtected({ dryRun: true })
    ;(await service.connect()).get('/in-service')
    const { response } = await service.holding.take('/in-service')
    for (let i = 0; i < 5; i++) {
      const scanner = await service.connect()
      scanner.send('GET / HTTP/1.1\r\n\r\n')
      assert.equal((await scanner.answer()).status, 400)
    }
    response.end()
    await eventually('nothing is in service', () => service.guard.stats().inflight === 0)
    assert.equal(service.guard.stats().queued, 0)
    assert.equal(service.guard.stats().shed.late, 0)
  })
})

describe('protect() rejects the options', () => {
  for (const [options, complaint] of [
    [{ exempt: 'health' }, /exempt must be a list of paths/],
    [{ exempt: ['health'] }, /exempt\[0\] must be a path/],
    [{ exempt: ['/a?b'] }, /exempt\[0\] must be a path/],
    [{ readiness: 'ready' }, /readiness must be a path/],
    [{ readiness: '/ready*' }, /without a wildcard/],
    [{ shedBody: { type: 'a/b', text: '', tpye: '' } }, /Did you mean 'type'/],
    [[], /an object; got an array/],
    [{ readiness: { path: '/r', unreadyAbovePresure: 1 } }, /Did you mean 'unreadyAbovePressure'/],
    [{ readiness: { path: '/r', unreadyAbovePressure: 2 } }, /from 0 to 1/],
    [{ drainDelayMs: -1 }, /drainDelayMs must be a number of milliseconds from 0 to 1800000; got -1/],
    [{ drainDelayMs: '8s' }, /drainDelayMs must be/],
    [{ criticality: 'high' }, /criticality must be a function/],
    [{ criticalityHeader: 'x y' }, /name of a header field/],
    [{ dryRun: 1 }, /dryRun must be true or false/],
    [{ limit: 0 }, /limit must be a whole number/],
    [{ limit: { limit: 3 } }, /limit must be a whole number from 1 to 1000000; got an object/],
    [{ queue: () => ({}) }, /does not know 'queue'/],
    [{ pools: {} }, /does not know 'pools'/],
  ] as const) {
    it(JSON.stringify(options), () => {
      assert.throws(() => protect(http.createServer(), options as unknown as ProtectOptions), complaint)
    })
  }
})

describe('pressureOf(request)', () => {
  it('is the pressure of the server that got the request, and 0 elsewhere', async () => {
    const service = await openProtected()
    await fill(service)
    const { request } = { request: { socket: { server: service.server } } }
    assert.equal(pressureOf(request as never), service.guard.pressure())
    assert.ok(service.guard.pressure() > 0)
    assert.equal(pressureOf({ socket: {} } as never), 0)
  })
})

describe('an HTTP/2 server', () => {
  it('queues and sheds by the same gate, and drains', async () => {
    const held: http2.Http2ServerResponse[] = []
    const server = http2.createServer((request, response) => {
      if (request.url === '/hold') held.push(response)
      else response.end('served')
    })
    const guard = protect(server, { limit: 1, readiness: '/ready', lanes: 1 })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const get = async (path: string): Promise<{ status: number; body: string }> => {
      const stream = session.request({ ':path': path })
      const [headers] = await once(stream, 'response')
      let body = ''
      for await (const chunk of stream.setEncoding('utf8')) body += chunk
      return { status: headers[':status'], body }
    }
    assert.deepEqual(await get('/'), { status: 200, body: 'served' })
    await eventually('the permit is back', () => guard.stats().inflight === 0)
    void get('/hold').catch(() => undefined) // cut at the end
    await eventually('it is in service', () => held.length === 1)
    const waiting = get('/wait')
    await eventually('it waits', () => guard.stats().queued === 1)
    assert.equal((await get('/ready')).status, 200)
    // A client that disconnects leaves the queue.
    const left = session.request({ ':path': '/leaves' })
    left.on('error', () => undefined)
    await eventually('two wait', () => guard.stats().queued === 2)
    left.close(http2.constants.NGHTTP2_CANCEL)
    await eventually('it left', () => guard.stats().queued === 1)
    const drained = guard.drain(200)
    assert.equal((await waiting).status, 503)
    assert.equal(await drained, false)
    session.destroy()
  })
})
