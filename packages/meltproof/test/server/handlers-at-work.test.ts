/** At most as many handlers work at once as there are permits, whatever clients and dependencies do. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import http2 from 'node:http2'
import { pipeline, Readable } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { meltproof as fastifyAdapter } from '../../src/adapters/fastify.ts'
import { meltproof as koaAdapter } from '../../src/adapters/koa.ts'
import { requests } from '../../src/channels.ts'
import { type Guard, type ProtectOptions, protect } from '../../src/index.ts'
import { connect, eventually, Holding, startGated } from './harness.ts'

/** A dependency that hangs until it recovers, and counts the calls at work. */
class Dependency {
  working = 0
  most = 0
  readonly #waiting: (() => void)[] = []
  hangs = true

  async call(): Promise<void> {
    this.most = Math.max(this.most, ++this.working)
    if (this.hangs) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else await sleep(2)
    this.working--
  }

  recover(): void {
    this.hangs = false
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

interface Service {
  readonly guard: Guard
  readonly port: number
  readonly dependency: Dependency
  /** Sends a request, and leaves after `patienceMs`. Returns the status, or 0 without a response. */
  ask(patienceMs?: number, headers?: Record<string, string>, path?: string): Promise<number>
  /** Disconnects every waiting client. */
  leave(): void
}

async function serve(
  t: TestContext,
  options: ProtectOptions,
  handlerOf: (dependency: Dependency) => RequestListener = answering,
): Promise<Service> {
  const dependency = new Dependency()
  const server = http.createServer(handlerOf(dependency))
  const guard = protect(server, { lanes: 1, ...options })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  t.after(() => {
    dependency.recover()
    server.close()
    server.closeAllConnections()
  })
  const waiting = new Set<http.ClientRequest>()
  const ask: Service['ask'] = (patienceMs = 5000, headers = {}, path = '/') =>
    new Promise(resolve => {
      const request = http.get({ port, path, headers, agent: false }, response => {
        response.resume().on('end', () => resolve(response.statusCode!))
        response.on('error', () => resolve(0))
      })
      request.on('error', () => resolve(0))
      waiting.add(request)
      const leave = setTimeout(() => request.destroy(), patienceMs)
      request.on('close', () => {
        waiting.delete(request)
        clearTimeout(leave)
      })
    })
  const leave = (): void => {
    for (const request of waiting) request.destroy()
  }
  return { guard, port, dependency, ask, leave }
}

const answering =
  (dependency: Dependency): RequestListener =>
  (_, response) => {
    void dependency.call().then(() => response.end('done'))
  }

/** Sends `count` requests over a second, each of which is answered or leaves. */
async function flood(count: number, ask: () => Promise<number>): Promise<Map<number, number>> {
  const asked: Promise<number>[] = []
  for (let i = 0; i < count; i++) {
    asked.push(ask())
    await sleep(1000 / count)
  }
  const byStatus = new Map<number, number>()
  for (const status of await Promise.all(asked)) byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
  return byStatus
}

describe('a permit lasts as long as its handler works', () => {
  it('when clients disconnect from handlers whose dependency hangs', async t => {
    const { guard, dependency, ask } = await serve(t, { limit: 16 })
    await flood(200, () => ask(50))
    // A few are treated as finished in that time (abandoned.ts): one after 0.5 s, four within 8 s on a slow machine.
    assert.ok(dependency.most <= 20, `${dependency.most} at work`)
    assert.ok(guard.stats().abandoned >= 15, JSON.stringify(guard.stats()))
    dependency.recover()
    await eventually('every permit is back', () => guard.stats().inflight === 0)
    assert.equal(guard.stats().abandoned, 0)
    assert.equal(await ask(), 200)
  })

  it('when the deadline has passed and the client got a 504', async t => {
    const { guard, dependency, ask } = await serve(t, { limit: 16, deadlineMs: 50 })
    const byStatus = await flood(200, () => ask())
    assert.ok(dependency.most <= 20, `${dependency.most} at work`)
    assert.ok(byStatus.get(504)! >= 16 && byStatus.get(504)! <= 20, JSON.stringify([...byStatus]))
    assert.ok(byStatus.get(503)! >= 180, JSON.stringify([...byStatus]))
    dependency.recover()
    await eventually('every permit is back', () => guard.stats().inflight === 0)
    assert.equal(await ask(), 200)
  })

  it('when callers set a timeout of one millisecond', async t => {
    const { guard, dependency, ask } = await serve(t, { limit: 16, deadlineMs: 5000 })
    await flood(200, () => ask(5000, { 'x-envoy-expected-rq-timeout-ms': '1' }))
    assert.ok(dependency.most <= 20, `${dependency.most} at work`)
    dependency.recover()
    await eventually('every permit is back', () => guard.stats().inflight === 0)
  })

  it('when clients disconnect and their handlers end silently, until requests are quick again', async t => {
    const silently =
      (dependency: Dependency): RequestListener =>
      (_, response) => {
        void dependency.call().then(() => {
          if (!response.destroyed) response.end('done')
        })
      }
    const { guard, dependency, ask } = await serve(t, { limit: 8 }, silently)
    await flood(100, () => ask(50))
    assert.ok(dependency.most <= 10, `${dependency.most} at work`)
    dependency.recover()
    await eventually('a request is served again', async () => (await ask(1000)) === 200)
    await eventually('every permit is back', async () => {
      const together = await Promise.all(Array.from({ length: 20 }, () => ask()))
      return together.every(status => status === 200) && guard.stats().abandoned === 0
    })
  })

  it('when clients disconnect and their handlers stop silently, and other clients are still served', async t => {
    const { ask } = await serve(t, { limit: 16 }, () => (_, response) => {
      const gone = new AbortController()
      response.on('close', () => gone.abort())
      sleep(100, undefined, { signal: gone.signal }).then(
        () => response.end('done'),
        () => {},
      )
    })
    const patient: Promise<number>[] = []
    for (let i = 0; i < 300; i++) {
      if (i % 5 === 0) patient.push(ask())
      else void ask(30)
      await sleep(10)
    }
    const served = (await Promise.all(patient)).filter(status => status === 200).length
    assert.ok(served >= 0.9 * patient.length, `${served} of ${patient.length}`)
  })

  /** More handlers than meltproof treats as finished during a test. */
  const MANY = 64
  /** How many handlers may be treated as finished on a slow machine. */
  const PROBED = 4
  it('when one handler in four hangs and the rest are quick: at most twice the limit is at work', async t => {
    let came = 0
    const { dependency, ask } = await serve(t, { limit: 8 }, dependency => (_, response) => {
      if (++came % 4 === 0 && came > 10) void dependency.call().then(() => response.end('done'))
      else response.end('quick')
    })
    for (let i = 0; i < 10; i++) await ask()
    // The load lasts for less than the time for which a hung handler is doubted (abandoned.ts), on any machine.
    for (const startMs = Date.now(); Date.now() < startMs + 1000; await sleep(2)) void ask(100)
    assert.ok(dependency.most > 8 && dependency.most <= 16, `${dependency.most} at work`)
  })

  it('when requests are observed: at most twice the limit is at work while handlers make calls', async t => {
    const held: ServerResponse[] = []
    const upstream = http.createServer((_, response) => void held.push(response))
    await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(upstream.address() as { port: number }).port}/`
    const ignore = (): void => {}
    requests.subscribe(ignore)
    t.after(() => {
      requests.unsubscribe(ignore)
      upstream.close()
      upstream.closeAllConnections()
    })
    let calling = 0
    const { ask } = await serve(t, { limit: 4 }, () => async (request, response) => {
      if (request.url === '/?calls') {
        calling++
        await fetch(url)
          .then(answer => answer.text())
          .catch(() => {})
        calling--
      } else await sleep(100)
      response.end('done')
    })
    await Promise.all([ask(), ask()])
    // The clients leave before their requests count as far slower than their kind. If no subscriber observed requests,
    // these would be doubted for a second only (abandoned.ts).
    for (const startMs = Date.now(); Date.now() < startMs + 4000; await sleep(60)) {
      void ask(120, {}, '/?calls')
      void ask(1000)
    }
    assert.ok(calling > 4 && calling <= 8, `${calling} at work`)
    await eventually('all have ended', () => {
      for (const response of held.splice(0)) response.end('at last')
      return calling === 0
    })
  })

  const frameworks: Record<string, (dependency: Dependency) => RequestListener> = {
    Express: dependency => {
      const app = express()
      app.get('/', async (_, response) => {
        await dependency.call()
        response.send('done')
      })
      return app
    },
    'Fastify with its adapter': dependency => {
      const app = fastify()
      void app.register(fastifyAdapter).after(() => {
        app.get('/', async () => {
          await dependency.call()
          return 'done'
        })
      })
      return (request, response) => void app.ready().then(() => app.routing(request, response))
    },
    Hono: dependency => {
      const app = new Hono()
      app.get('/', async context => {
        await dependency.call()
        return context.text('done')
      })
      return getRequestListener(app.fetch)
    },
    'Koa with its adapter': dependency => {
      const app = new Koa()
      app.silent = true
      app.use(koaAdapter())
      app.use(async context => {
        await dependency.call()
        context.body = 'done'
      })
      return app.callback()
    },
  }
  for (const [name, listenerOf] of Object.entries(frameworks)) {
    for (const [what, options] of [
      ['left', {}],
      ['got a 504', { deadlineMs: 1000 }],
    ] as const) {
      it(`in ${name}, when clients ${what}`, async t => {
        const { guard, dependency, ask, leave } = await serve(t, { limit: MANY, ...options }, listenerOf)
        const asked = Array.from({ length: MANY }, () => ask(60_000))
        await eventually('all are at work', () => dependency.working === MANY)
        if (what === 'left') leave()
        await Promise.all(asked)
        await eventually('the clients have left', () => guard.stats().abandoned >= MANY - PROBED)
        await sleep(100)
        dependency.recover()
        await eventually('every permit is back', () => guard.stats().inflight === 0)
      })
    }
  }

  it('until the handler closes the connection itself', async () => {
    const service = await startGated((request, response) => {
      if (request.url === '/socket') request.socket.destroy()
      else response.destroy()
    })
    for (const path of ['/socket', '/response']) {
      assert.equal(await (await service.connect()).get(path).rest(), '')
      await eventually('nothing is held', () => service.requestPath.stats().inflight === 0)
    }
    assert.equal(service.requestPath.stats().abandoned, 0)
  })

  it('when the client closes, half-closes or resets the connection', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler, { limit: 3 })
    const held = []
    for (const [path, leave] of [
      ['/close', 'destroy'],
      ['/reset', 'resetAndDestroy'],
      ['/half', 'end'],
    ] as const) {
      const client = (await service.connect()).get(path)
      held.push(await holding.take(path))
      client.socket[leave]()
    }
    await eventually('all have left', () => service.requestPath.stats().abandoned === 3)
    assert.equal(service.requestPath.stats().inflight, 3)
    for (const { response } of held) response.end()
    await eventually('nothing is held', () => service.requestPath.stats().inflight === 0)
    assert.equal(service.requestPath.stats().abandoned, 0)
  })

  it('when Node closes a connection on its idle timeout', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler, { limit: 1 })
    service.server.timeout = 60
    const client = (await service.connect()).get('/idle')
    const { response } = await holding.take('/idle')
    await client.rest()
    assert.equal(service.requestPath.stats().inflight, 1)
    response.end()
    await eventually('nothing is held', () => service.requestPath.stats().inflight === 0)
  })
})

describe('a permit is returned after its client has disconnected', () => {
  /** Sixteen clients arrive one after the other and `leave`. Then no permit is held. */
  async function come(handler: RequestListener, send: string, leave: 'destroy' | 'wait'): Promise<void> {
    const service = await startGated(handler, { limit: 4 })
    for (let i = 0; i < 16; i++) {
      const client = (await service.connect()).send(send)
      await eventually('it is in service', () => service.requestPath.stats().admitted === i + 1)
      if (leave === 'wait') await client.rest()
      else {
        await sleep(5)
        client.destroy()
      }
    }
    await eventually(
      'nothing is held',
      () => service.requestPath.stats().inflight === 0 && service.requestPath.stats().abandoned === 0,
    )
  }
  const GET = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n'

  it('from an event stream', () =>
    come(
      (_, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hi\n\n'),
      GET,
      'destroy',
    ))

  it('during a response whose source failed', () =>
    come(
      (_, response) => {
        const source = new Readable({ read() {} })
        source.push('some')
        setTimeout(() => source.destroy(new Error('the upstream was reset')), 5)
        pipeline(source, response, () => undefined)
      },
      GET,
      'wait',
    ))

  it('after half of a request body', () =>
    come(
      (request, response) =>
        void request
          .on('error', () => {})
          .resume()
          .on('end', () => response.end('thanks')),
      'POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n1',
      'destroy',
    ))

  it('a permit is returned after an HTTP/2 response on the raw stream', async t => {
    const server = http2.createServer((_, { stream }) => {
      stream.respond({ ':status': 200 })
      stream.end('raw')
    })
    const guard = protect(server, { limit: 4, lanes: 1 })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const client = http2.connect(`http://127.0.0.1:${(server.address() as { port: number }).port}`)
    t.after(() => {
      client.close()
      server.close()
    })
    for (let i = 0; i < 16; i++) await once(client.request({ ':path': '/' }).resume(), 'end')
    await eventually('nothing is held', () => guard.stats().inflight === 0)
    assert.equal(guard.stats().abandoned, 0)
  })
})

describe('uploads whose deadline passes while their ends wait for a permit', () => {
  it('get a 503 or 504, and at most three of their handlers work', async t => {
    const { port, dependency } = await serve(t, { limit: 2, deadlineMs: 400 }, dependency => (request, response) => {
      request.on('error', () => {})
      request.resume().on('end', () => void dependency.call().then(() => response.end('thanks')))
    })
    const clients = []
    for (let i = 0; i < 20; i++) {
      const client = await connect(port)
      clients.push(client.send('POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n1'))
      await sleep(12)
    }
    for (const client of clients) client.send('2')
    for (const client of clients) assert.ok([503, 504].includes((await client.answer()).status))
    assert.ok(dependency.most <= 3, `${dependency.most} at work`)
  })
})

describe('an upload that takes longer than its deadline', () => {
  it('gets a new deadline once its body has arrived', async t => {
    const { port, dependency } = await serve(t, { deadlineMs: 100 }, dependency => (request, response) => {
      request.resume().on('end', () => void dependency.call().then(() => response.end('thanks')))
    })
    const client = await connect(port)
    client.send('POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n1')
    await sleep(200)
    assert.equal(client.received, '', 'its deadline has passed, and its client sets the pace')
    client.send('2')
    assert.equal((await client.answer()).status, 504)
    assert.equal(dependency.most, 1)
  })
})

describe('an upload that takes longer than the timeout of its caller', () => {
  for (const [who, trustCallersFrom] of [
    ['an untrusted caller', undefined],
    ['a trusted caller', true],
  ] as const) {
    it(`gets a 504 after that timeout once its body has arrived: ${who}`, async t => {
      const options = { deadlineMs: 60_000, ...(trustCallersFrom && { trustCallersFrom }) }
      const { port } = await serve(t, options, dependency => (request, response) => {
        request.resume().on('end', () => void dependency.call().then(() => response.end('thanks')))
      })
      const client = await connect(port)
      client.send('POST / HTTP/1.1\r\nHost: test\r\nx-envoy-expected-rq-timeout-ms: 100\r\nContent-Length: 2\r\n\r\n1')
      await sleep(200)
      client.send('2')
      assert.equal((await client.answer()).status, 504)
    })
  }
})

describe('a permit is returned without a close event', () => {
  const takesOver: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
    'when the app detaches the socket': (request, response) => response.detachSocket(request.socket),
    'when the app removes the listeners of the connection': request => {
      request.socket.removeAllListeners('close')
    },
  }
  for (const [name, take] of Object.entries(takesOver)) {
    it(name, async () => {
      const holding = new Holding()
      const service = await startGated(
        (request, response) => {
          if (request.url === '/taken') take(request, response)
          holding.handler(request, response)
        },
        { limit: 1 },
      )
      const client = (await service.connect()).get('/taken')
      const taken = await holding.take('/taken')
      if (name.includes('listeners')) {
        client.destroy()
        await eventually('its client is gone', () => taken.request.socket.destroyed)
        taken.response.end()
      }
      const other = (await service.connect()).get('/other')
      const { response } = await holding.take('/other')
      response.end('served')
      assert.equal((await other.answer()).body, 'served')
      await eventually('nothing is held', () => service.requestPath.stats().inflight === 0)
      client.destroy()
    })
  }
})

describe('slow uploads', () => {
  it('run no more handlers than the limit when they all end together; those without room get a 503', async () => {
    let working = 0
    let most = 0
    const aborted: string[] = []
    const service = await startGated(
      (request, response) => {
        request.on('aborted', () => aborted.push(request.url!))
        request.on('error', () => {})
        request.resume().on('end', async () => {
          most = Math.max(most, ++working)
          await sleep(40)
          working--
          response.end('thanks')
        })
      },
      { limit: 2, tuning: { maxWaitMs: 150 } },
    )
    const slow = []
    for (let i = 0; i < 40; i++) {
      const client = await service.connect()
      client.send('POST /slow HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n1')
      slow.push(client)
      await sleep(12)
    }
    await eventually('all upload', () => service.requestPath.stats().admitted === 40)
    for (const client of slow) client.send('2')
    const statuses = []
    for (const client of slow) statuses.push((await client.answer()).status)
    assert.equal(most, 2)
    assert.ok(statuses.includes(200) && statuses.includes(503), String(statuses))
    assert.ok(statuses.every(status => status === 200 || status === 503))
    await eventually(
      'requests without room are aborted',
      () => aborted.length === service.requestPath.stats().shed.late,
    )
    await eventually('nothing is held', () => service.requestPath.stats().inflight === 0)
  })

  it('do not block other requests if their bodies never arrive', async () => {
    const service = await startGated(
      (request, response) => void request.resume().on('end', () => response.end('served')),
      {
        limit: 2,
        tuning: { maxWaitMs: 400 },
      },
    )
    for (let i = 0; i < 60; i++) {
      const never = await service.connect()
      never.send('POST /never HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n')
      if (i % 3 === 0) assert.equal((await (await service.connect()).get('/').answer()).status, 200)
    }
  })
})
