/** Special cases of calls: upgrades, queues, uploads, slow readers, budgets, closing in flight. */
import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import http from 'node:http'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, getGlobalDispatcher, request as undiciRequest, upgrade as undiciUpgrade } from 'undici'
import { freePort } from '../../../lab/src/launch/free-port.ts'
import { Budget } from '../../src/deadline/budget.ts'
import { runWithBudget } from '../../src/deadline/context.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { isMeltproofError, MeltproofError } from '../../src/errors.ts'
import { bound, install } from '../../src/outbound/install.ts'
import { LimitTable, type OutboundLimits } from '../../src/outbound/limits.ts'
import { CallPhases } from '../../src/outbound/phases.ts'
import { WatchedBudget } from '../deadline/watched-budget.ts'
import { eventually } from '../server/harness.ts'
import { CLIENTS, codesOf, deadlineIn, exceeded, overHttp } from './clients.ts'
import { startDependency } from './dependency.ts'

const dependency = await startDependency()
let uninstall: (() => void) | undefined
const withLimits = (limits: OutboundLimits): void => {
  uninstall = install(limits)
}
afterEach(async () => {
  for (let i = 0; i < 300 && pendingFairTimers() > 0; i++) await sleep(10)
  assert.equal(pendingFairTimers(), 0)
  uninstall?.()
  uninstall = undefined
})

/** Resolves with the first event of a request. */
function sent(options: http.RequestOptions, end = true): Promise<{ error?: Error; response?: http.IncomingMessage }> {
  return new Promise(resolve => {
    const request = http.request({ host: '127.0.0.1', port: dependency.port, ...options })
    request.on('error', error => resolve({ error })).on('response', response => resolve({ response }))
    if (end) request.end()
  })
}

describe('upgrades', () => {
  const headers = { connection: 'upgrade', upgrade: 'echo' }

  test('node:http: an upgraded connection has no limits', async () => {
    withLimits({ idleMs: 50, totalMs: 200, maxInFlight: 1 })
    const request = http.request({ host: '127.0.0.1', port: dependency.port, headers }).end()
    const [, socket] = (await once(request, 'upgrade')) as [unknown, Socket]
    assert.equal(pendingFairTimers(), 0)
    assert.equal(await overHttp(`${dependency.url}/hello`), 'hello')
    await sleep(300)
    socket.write('still there')
    assert.equal(String((await once(socket, 'data'))[0]), 'still there')
    socket.destroy()
  })

  test('node:http: a CONNECT tunnel has no limits', async () => {
    withLimits({ idleMs: 50, totalMs: 200 })
    const request = http.request({ host: '127.0.0.1', port: dependency.port, method: 'CONNECT', path: 'a:1' }).end()
    const [, socket] = (await once(request, 'connect')) as [unknown, Socket]
    assert.equal(pendingFairTimers(), 0)
    await sleep(300)
    socket.write('still there')
    assert.equal(String((await once(socket, 'data'))[0]), 'still there')
    socket.destroy()
  })

  test('undici: an upgraded connection has no limits', async () => {
    withLimits({ idleMs: 50, totalMs: 200 })
    const { socket } = await undiciUpgrade(`${dependency.url}/`, { protocol: 'echo' })
    await eventually('its limits have ended', () => pendingFairTimers() === 0)
    await sleep(300)
    socket.write('still there')
    assert.equal(String((await once(socket, 'data'))[0]), 'still there')
    socket.destroy()
  })

  test('an upgrade that gets no answer ends after firstByteMs', async () => {
    withLimits({ firstByteMs: 100 })
    const { error } = await sent({ path: '/silent', headers })
    assert.equal(deadlineIn(error)?.phase, 'first-byte')
    assert.equal((await exceeded(undiciUpgrade(`${dependency.url}/silent`, { protocol: 'echo' }))).phase, 'first-byte')
  })
})

describe('agents of node:http', () => {
  test('the wait for a free connection counts towards totalMs, but not towards connectMs', async () => {
    withLimits({ connectMs: 50, totalMs: 600 })
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const held = sent({ agent, path: '/hello?ms=300' })
    const queued = sent({ agent, path: '/hello' })
    ;(await held).response!.resume()
    const { response: late } = await queued
    assert.equal(late?.statusCode, 200)
    late?.resume()
    withLimits({ firstByteMs: 900 })
    const holder = sent({ agent, path: '/silent' })
    withLimits({ connectMs: 50, totalMs: 300 })
    const { error } = await sent({ agent, path: '/hello' })
    assert.equal(deadlineIn(error)?.phase, 'total')
    assert.deepEqual(Object.keys(agent.requests), [])
    agent.destroy()
    await holder
  })

  /** Connects later, as agents for proxies do. */
  class LateAgent extends http.Agent {
    declare connect?: () => void
    override createConnection(...[{ port }, done]: Parameters<http.Agent['createConnection']>): undefined {
      this.connect = () => done?.(null, connect(Number(port), '127.0.0.1'))
    }
  }

  test('connectMs applies to an agent that connects late or never, and its late connection is closed', async () => {
    withLimits({ connectMs: 50 })
    const agent = new LateAgent()
    const events: string[] = []
    const request = http.get({ host: '127.0.0.1', port: dependency.port, agent })
    request.on('error', error => events.push(deadlineIn(error)!.phase)).on('close', () => events.push('close'))
    await eventually('the request gets the error', () => events.includes('close'))
    assert.deepEqual(events, ['connect', 'close'])
    agent.connect!()
    await eventually('the late connection is closed', () => Object.keys(agent.sockets).length === 0)
    assert.deepEqual(events, ['connect', 'close'])
  })

  test('a connection that an agent makes asynchronously within connectMs is used', async () => {
    withLimits({ connectMs: 5000 })
    const agent = new LateAgent()
    const sent = once(http.get({ host: '127.0.0.1', port: dependency.port, path: '/hello', agent }), 'response')
    await eventually('the agent is asked to connect', () => agent.connect !== undefined)
    agent.connect!()
    const [response] = (await sent) as [http.IncomingMessage]
    assert.equal(response.resume().statusCode, 200)
  })

  test('a refused call does not close a connection of the pool', async () => {
    withLimits({ maxInFlight: 1, firstByteMs: 500 })
    const agent = new http.Agent({ keepAlive: true })
    const first = await sent({ agent, path: '/hello' })
    const [socket] = (await Promise.all([once(agent, 'free'), first.response!.resume()]))[0] as [Socket]
    const held = sent({ path: '/silent', agent: false })
    const { error } = await sent({ agent, path: '/hello' })
    assert.ok(isMeltproofError(error) && error.code === 'MELTPROOF_OUTBOUND_FULL')
    await sleep(20)
    // Node 22 closes the connection of a request that is destroyed with an error before it is assigned.
    if (Number(process.versions.node.split('.')[0]) >= 24) assert.equal(socket.destroyed, false)
    assert.equal(deadlineIn((await held).error)?.phase, 'first-byte')
    agent.destroy()
  })

  test('many calls that wait in one agent read its queue together', async () => {
    const agent = new http.Agent({ maxSockets: 1 })
    const { requests } = agent
    let reads = 0
    const get = (): object => {
      reads++
      return requests
    }
    Object.defineProperty(agent, 'requests', { get })
    withLimits({ connectMs: 200, totalMs: 1_500 })
    const calls = Array.from({ length: 300 }, () => sent({ agent, path: '/silent' }))
    reads = 0
    await sleep(1_200)
    assert.ok(reads > 0 && reads < 60, `${reads} reads`)
    for (const { error } of await Promise.all(calls)) assert.equal(deadlineIn(error)?.phase, 'total')
    agent.destroy()
  })

  test('a reused connection does not accumulate listeners', async () => {
    withLimits({})
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const counts: number[] = []
    let socket: Socket | undefined
    for (let i = 0; i < 20; i++) {
      const { response } = await sent({ agent, path: '/hello' })
      assert.ok(socket === undefined || socket === response!.socket)
      socket = response!.socket
      counts.push(socket.eventNames().reduce((sum, name) => sum + socket!.listenerCount(name), 0))
      response!.resume()
      await once(response!, 'close')
      await sleep(1)
    }
    assert.equal(counts.at(-1), counts[1])
    agent.destroy()
  })

  test('a socket path is an origin with its own limits', async () => {
    const path = join(tmpdir(), `meltproof-${process.pid}.sock`)
    const server = http.createServer((request, response) => {
      if (request.url === '/hello') response.end('hello')
    })
    server.listen(path)
    await once(server, 'listening')
    withLimits({ firstByteMs: 100, origins: { [`unix:${path}`]: { firstByteMs: 300 } } })
    const { response } = await sent({ socketPath: path, path: '/hello' })
    response!.resume()
    const { error } = await sent({ socketPath: path, path: '/silent' })
    assert.equal(deadlineIn(error)?.limitMs, 300)
    assert.match(error!.message, /the call to unix:/)
    server.close()
    server.closeAllConnections()
  })
})

describe('bodies', () => {
  test('node:http: a body that arrives in pieces is not idle, also when other code has replaced push()', async () => {
    withLimits({ idleMs: 300, totalMs: 5000 })
    const { push } = Readable.prototype
    Readable.prototype.push = function (this: Readable, ...args: Parameters<typeof push>): boolean {
      return push.apply(this, args)
    }
    try {
      const { response } = await sent({ path: '/drip?ms=50' })
      const cut = once(response!.resume(), 'error').then(([error]) => error)
      assert.equal(await Promise.race([cut, sleep(900, 'alive')]), 'alive')
      response!.destroy()
    } finally {
      Readable.prototype.push = push
    }
  })

  test('a body that has arrived but is not read has no timer, and is not cut off', async () => {
    withLimits({ idleMs: 100 })
    const { response } = await sent({ path: '/hello' })
    await sleep(20)
    assert.equal(pendingFairTimers(), 0)
    await sleep(200)
    assert.equal(response!.destroyed, false)
    assert.equal(String((await once(response!, 'data'))[0]), 'hello')
  })

  test('a slow reader does not count as a silent sender', async () => {
    withLimits({ idleMs: 100, minBytesPerSecond: 1_000_000, totalMs: 20_000 })
    const bytes = 8_000_000
    const slowly = async (body: AsyncIterable<Uint8Array>): Promise<number> => {
      let seen = 0
      let pauses = 0
      for await (const chunk of body) {
        if (seen > pauses * 2_000_000) {
          pauses++
          await sleep(250)
        }
        seen += chunk.length
      }
      assert.ok(pauses >= 3)
      return seen
    }
    const { response } = await sent({ path: `/big?bytes=${bytes}` })
    const fetched = await fetch(`${dependency.url}/big?bytes=${bytes}`)
    const requested = await undiciRequest(`${dependency.url}/big?bytes=${bytes}`)
    assert.deepEqual(
      await Promise.all(
        [response!, fetched.body!, requested.body].map(body => slowly(body as AsyncIterable<Uint8Array>)),
      ),
      [bytes, bytes, bytes],
    )
  })

  test('an event stream has only the limit streamIdleMs', async () => {
    withLimits({ totalMs: 300, idleMs: 20, streamIdleMs: 250 })
    for (const client of [CLIENTS['fetch']!, CLIENTS['node:http']!, CLIENTS['undici 8']!]) {
      const abort = new AbortController()
      const alive = client(`${dependency.url}/drip?ms=50&type=text/event-stream`, { signal: abort.signal })
      assert.equal(await Promise.race([alive.catch(String), sleep(600, 'alive')]), 'alive')
      abort.abort()
      await assert.rejects(alive, error => deadlineIn(error) === undefined)
      const error = await exceeded(client(`${dependency.url}/stuck?type=text/event-stream`))
      assert.equal(error.limitMs ?? 250, 250)
    }
  })

  test('a head that arrives byte by byte does not count as the first byte', async () => {
    withLimits({ firstByteMs: 200 })
    for (const client of [CLIENTS['fetch']!, CLIENTS['node:http']!]) {
      assert.match((await exceeded(client(`${dependency.url}/head-drip?ms=30`))).message, /for the first byte/)
    }
  })

  test('a request body that is produced slowly does not count towards firstByteMs', async () => {
    withLimits({ firstByteMs: 100 })
    const produce = async function* (): AsyncGenerator<Buffer> {
      for (let i = 0; i < 5; i++) {
        await sleep(150)
        yield Buffer.alloc(100)
      }
    }
    const answers = await Promise.all([
      fetch(`${dependency.url}/echo-length`, {
        method: 'POST',
        body: ReadableStream.from(produce()),
        duplex: 'half',
      } as RequestInit).then(response => response.text()),
      undiciRequest(`${dependency.url}/echo-length`, { method: 'POST', body: produce() as never }).then(({ body }) =>
        body.text(),
      ),
      new Promise((resolve, reject) => {
        const request = http.request(`${dependency.url}/echo-length`, { method: 'POST' }, async response => {
          resolve(String((await once(response, 'data'))[0]))
        })
        request.on('error', reject)
        void (async () => {
          for await (const chunk of produce()) request.write(chunk)
          request.end()
        })()
      }),
    ])
    assert.deepEqual(answers, ['500', '500', '500'])
  })

  test('an upload that its peer does not read ends after firstByteMs', async () => {
    withLimits({ firstByteMs: 100 })
    const request = http.request(`${dependency.url}/deaf`, { method: 'POST' })
    request.end(Buffer.alloc(50_000_000))
    const [error] = (await once(request, 'error')) as [Error]
    assert.equal(deadlineIn(error)?.phase, 'first-byte')
    const secure = overHttp(`${dependency.secureUrl}/deaf`, { body: 'x'.repeat(30_000_000) })
    assert.equal((await exceeded(secure)).phase, 'first-byte')
  })

  test('node:http: an upload in one write that its peer reads slowly does not end after firstByteMs', async () => {
    const bytes = 30_000_000
    const bodies = [Buffer.alloc(bytes), 'x'.repeat(bytes)]
    const upload = (url: string, body: Buffer | string): Promise<string> =>
      overHttp(`${url}/sip?ms=100&bytes=12000000`, { body })
    const all = (): Promise<string[]> =>
      Promise.all([dependency.url, dependency.secureUrl].flatMap(url => bodies.map(body => upload(url, body))))
    const startMs = performance.now()
    assert.deepEqual(await all(), Array(4).fill(String(bytes)), 'bare')
    const tookMs = performance.now() - startMs
    assert.ok(tookMs > 2_000, `${tookMs} ms`)
    withLimits({ firstByteMs: 700, totalMs: false })
    assert.deepEqual(await all(), Array(4).fill(String(bytes)))
  })
})

describe('budgets', () => {
  for (const [name, client] of Object.entries(CLIENTS)) {
    test(`${name}: a call ends with its budget, and is not started if the budget is used up`, async () => {
      withLimits({})
      const budget = new Budget(100)
      const error = await exceeded(runWithBudget(budget, () => client(`${dependency.url}/silent`)))
      assert.match(error.message, /took more than 100 ms.* for the whole answer/)
      const refused = await exceeded(runWithBudget(budget, () => client(`${dependency.url}/hello`)))
      assert.match(refused.message, /was not started/)
      budget.settle()
    })

    test(`${name}: a call ends when its budget is cancelled`, async () => {
      withLimits({})
      const budget = new Budget(10_000)
      const call = runWithBudget(budget, () => client(`${dependency.url}/silent`))
      setTimeout(() => budget.cancel(new MeltproofError('MELTPROOF_CANCELLED', 'the client has left')), 50)
      await assert.rejects(call, error => codesOf(error).includes('MELTPROOF_CANCELLED'))
      budget.settle()
    })

    test(`${name}: a call that is over has no listener on its budget`, async () => {
      withLimits({})
      const budget = new WatchedBudget(60_000)
      await runWithBudget(budget, () => client(`${dependency.url}/hello`))
      assert.ok(budget.added > 0)
      await eventually('the call is over', () => budget.listeners.size === 0)
      budget.settle()
    })
  }

  test('a settled budget does not end a call', async () => {
    withLimits({})
    const budget = new Budget(100)
    const call = runWithBudget(budget, () => overHttp(`${dependency.url}/hello?ms=300`))
    budget.settle()
    assert.equal(await call, 'hello')
  })
})

describe('calls that meltproof does not end', () => {
  for (const [name, client] of Object.entries(CLIENTS)) {
    test(`${name}: aborted, refused and broken calls keep their errors, and do not stay in flight`, async () => {
      withLimits({ maxInFlight: 1 })
      await assert.rejects(client(`${dependency.url}/hello`, { signal: AbortSignal.abort() }))
      const breaking = createServer(socket => {
        socket.on('error', () => undefined)
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc')
          setTimeout(() => socket.resetAndDestroy(), 20)
        })
      })
      breaking.listen(await freePort(), '127.0.0.1')
      await once(breaking, 'listening')
      const url = `http://127.0.0.1:${(breaking.address() as AddressInfo).port}`
      // Only one may be in flight, so the second starts only if the first is no longer counted.
      for (let i = 0; i < 2; i++) {
        await assert.rejects(client(url), error => !codesOf(error).some(code => code.startsWith('MELTPROOF')))
      }
      breaking.close()
      await once(breaking, 'close')
      for (let i = 0; i < 2; i++) {
        await assert.rejects(client(url), error => codesOf(error).includes('ECONNREFUSED'))
      }
      assert.equal(await client(`${dependency.url}/hello`), 'hello')
    })
  }

  test('a call whose dispatcher is destroyed fails with the error of undici', async () => {
    withLimits({})
    const dispatcher = new Agent()
    const call = undiciRequest(`${dependency.url}/silent`, { dispatcher })
    await sleep(50)
    await dispatcher.destroy()
    await assert.rejects(call, { code: 'UND_ERR_DESTROYED' })
    await assert.rejects(undiciRequest(`${dependency.url}/hello`, { dispatcher }), { code: 'UND_ERR_DESTROYED' })
  })

  test('timeouts that the caller sets work as without limits', async () => {
    withLimits({})
    await assert.rejects(fetch(`${dependency.url}/silent`, { signal: AbortSignal.timeout(50) }), {
      name: 'TimeoutError',
    })
    const request = http.get(`${dependency.url}/silent`, { timeout: 50 })
    await once(request, 'timeout')
    request.destroy()
    await once(request, 'error')
  })
})

describe('install and uninstall', () => {
  const CHANNELS = [
    'http.client.request.error',
    'http.client.request.created',
    'http.client.response.finish',
    'net.client.socket',
    'undici:request:create',
    'undici:client:beforeConnect',
    'undici:client:connected',
  ]

  test('uninstalling restores undici, ends all subscriptions, and leaves calls without limits', async () => {
    await (await fetch(`${dependency.url}/hello`)).text()
    const globals = globalThis as unknown as Record<symbol, object | undefined>
    let base = (globals[Symbol.for('undici.globalDispatcher.2')] ?? getGlobalDispatcher()) as { dispatch: unknown }
    while (!Object.hasOwn(base, 'dispatch')) base = Object.getPrototypeOf(base)
    const { dispatch } = base
    const subscribed = CHANNELS.map(name => channel(name).hasSubscribers)
    const off = install({ firstByteMs: 50 })
    assert.notEqual(base.dispatch, dispatch)
    const inFlight = overHttp(`${dependency.url}/hello?ms=100`)
    off()
    off()
    assert.equal(base.dispatch, dispatch)
    assert.deepEqual(
      CHANNELS.map(name => channel(name).hasSubscribers),
      subscribed,
    )
    assert.deepEqual(
      subscribed,
      CHANNELS.map(() => false),
    )
    assert.equal(await (await fetch(`${dependency.url}/hello?ms=150`)).text(), 'hello')
    assert.equal(await overHttp(`${dependency.url}/hello?ms=150`), 'hello')
    assert.equal(await inFlight, 'hello')
  })

  test('installing again replaces the limits', async () => {
    const first = install({ firstByteMs: 50 })
    withLimits({ firstByteMs: 150 })
    first()
    for (const client of [CLIENTS['fetch']!, overHttp]) {
      assert.equal((await exceeded(client(`${dependency.url}/silent`))).limitMs, 150)
    }
  })

  test('an origin that is set to false has no limits', async () => {
    withLimits({ firstByteMs: 50, origins: { [dependency.url]: false } })
    for (const client of Object.values(CLIENTS)) assert.equal(await client(`${dependency.url}/hello?ms=150`), 'hello')
  })

  test('an error inside meltproof uninstalls the limits, warns once, and fails no call', async t => {
    const warnings: Error[] = []
    const onWarning = (warning: Error): number => warnings.push(warning)
    process.on('warning', onWarning)
    withLimits({ firstByteMs: 50 })
    t.mock.method(LimitTable.prototype, 'of', () => {
      throw new Error('a mistake of ours')
    })
    for (const client of Object.values(CLIENTS)) assert.equal(await client(`${dependency.url}/hello?ms=100`), 'hello')
    await sleep(10)
    process.removeListener('warning', onWarning)
    assert.deepEqual(
      warnings
        .filter(({ name }) => name === 'MeltproofWarning')
        .map(({ message }) => /a mistake of ours/.test(message)),
      [true],
    )
    assert.deepEqual(
      CHANNELS.map(name => channel(name).hasSubscribers),
      CHANNELS.map(() => false),
    )
  })

  test('an error inside meltproof removes the limits of bound(), warns once, and fails no call', async t => {
    const warnings: string[] = []
    const onWarning = ({ name, message }: Error): void => {
      if (name === 'MeltproofWarning') warnings.push(message)
    }
    process.on('warning', onWarning)
    t.after(() => process.off('warning', onWarning))
    const agent = bound(new Agent(), { firstByteMs: 100 })
    t.after(() => agent.destroy())
    const call = async (): Promise<string> => {
      const { body } = await undiciRequest(`${dependency.url}/hello?ms=300`, { dispatcher: agent })
      return body.text()
    }
    assert.equal((await exceeded(call())).phase, 'first-byte')
    t.mock.method(CallPhases.prototype, 'connected', () => {
      throw new Error('a mistake of ours')
    })
    assert.equal(await call(), 'hello')
    assert.equal(await call(), 'hello')
    await eventually('a warning', () => warnings.length > 0)
    assert.equal(warnings.length, 1, warnings.join('\n'))
    assert.match(warnings[0]!, /stepped aside.*a mistake of ours/)
  })

  test('plain sockets have no limits', async () => {
    withLimits({ connectMs: 1, totalMs: 1 })
    const socket = connect(dependency.port, '127.0.0.1')
    await once(socket, 'connect')
    await sleep(50)
    assert.equal(socket.destroyed, false)
    socket.destroy()
  })
})
