/** drain(): which requests are still accepted, what responses say, and when each connection is closed. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { type ServerResponse } from 'node:http'
import https from 'node:https'
import net from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, it } from 'node:test'
import { type ProtectOptions, protect } from '../../src/index.ts'
import type { Guard } from '../../src/server/guard.ts'
import { eventually, Holding, type Service, listen } from './harness.ts'
import { CERTIFICATE } from './tls.fixture.ts'

interface Protected extends Service {
  readonly guard: Guard
  readonly holding: Holding
  readonly notes: string[]
}

async function open(options: ProtectOptions = {}, server = http.createServer()): Promise<Protected> {
  const holding = new Holding()
  server.on('request', holding.handler)
  const notes: string[] = []
  const guard = protect(server, { lanes: 1, limit: 10, onWarning: note => notes.push(note), ...options })
  return { ...(await listen(server)), guard, holding, notes }
}

/** Sends a request on a new connection and returns the response. */
async function ask(service: Protected, path: string): Promise<{ status: number; headers: Record<string, string> }> {
  const client = (await service.connect()).get(path)
  const { response } = await service.holding.take(path)
  response.end()
  return client.answer()
}

/** Longer than any drain here. A drain that waits for it has failed. */
const LONG_MS = 60_000

describe('drain(), before the server stops accepting', () => {
  it('reports not ready, but still accepts and serves', async () => {
    const service = await open({ readiness: '/ready' })
    await ask(service, '/before')
    const drained = service.guard.drain(LONG_MS)
    const probe = await (await service.connect()).get('/ready').answer()
    assert.equal(probe.status, 503)
    assert.equal(JSON.parse(probe.body).draining, true)
    assert.equal((await ask(service, '/during')).status, 200)
    assert.equal(await drained, true)
    assert.equal(service.server.listening, false)
  })

  it('stops at once if there were no recent requests', async () => {
    const service = await open()
    const beganAt = performance.now()
    assert.equal(await service.guard.drain(LONG_MS), true)
    assert.ok(performance.now() - beganAt < 500)
  })

  it('accepts for drainDelayMs', async () => {
    const service = await open({ drainDelayMs: 400 })
    const beganAt = performance.now()
    const drained = service.guard.drain(LONG_MS)
    assert.equal((await ask(service, '/during')).status, 200)
    await eventually('it stops', () => !service.server.listening)
    assert.ok(performance.now() - beganAt >= 390)
    assert.equal(await drained, true)
  })

  it('limits drainDelayMs to half of the drain timeout, with a warning', async () => {
    const service = await open({ drainDelayMs: 10_000 })
    assert.equal(await service.guard.drain(100), true)
    assert.equal(service.notes.length, 1)
    assert.match(service.notes[0]!, /drainDelayMs \(10000\) is more than half of drain\(100\).* after 50 ms/)
  })

  it('stops at once with drainDelayMs: 0', async () => {
    const service = await open({ drainDelayMs: 0 })
    await ask(service, '/before')
    const drained = service.guard.drain(LONG_MS)
    await eventually('it stops', () => !service.server.listening)
    assert.equal(await drained, true)
  })

  it('does not resolve before the last request has ended if the app closed the server itself', async () => {
    const service = await open()
    const client = (await service.connect()).get('/slow')
    const { response } = await service.holding.take('/slow')
    service.server.close()
    const drained = service.guard.drain(LONG_MS)
    let over = false
    void drained.then(() => (over = true))
    await new Promise(resolve => setTimeout(resolve, 120))
    assert.equal(over, false)
    response.end()
    assert.equal((await client.answer()).status, 200)
    assert.equal(await drained, true)
  })
})

describe('during a drain, Connection: close is sent', () => {
  it('to requests in service, waiting, exempt and new', async () => {
    const service = await open({ limit: 1, exempt: ['/exempt'], drainDelayMs: 0 })
    const [first, second, third, exempt] = [
      await service.connect(),
      await service.connect(),
      await service.connect(),
      await service.connect(),
    ]
    first.get('/in-service')
    const inService = await service.holding.take('/in-service')
    second.get('/waiting')
    await eventually('it waits', () => service.guard.stats().queued === 1)
    exempt.get('/exempt')
    const exempted = await service.holding.take('/exempt')
    const drained = service.guard.drain(LONG_MS)
    third.get('/comes')
    for (const [client, held] of [
      [exempt, exempted],
      [first, inService],
      [second, undefined],
      [third, undefined],
    ] as const) {
      const { response } = held ?? (await service.holding.take())
      response.end('served')
      const answer = await client.answer()
      assert.equal(answer.headers['connection'], 'close')
      assert.equal(answer.body, 'served')
      await client.closed
    }
    assert.equal(await drained, true)
  })

  it('to a request that is shed', async () => {
    const service = await open({ limit: 1 })
    const waiting = await service.connect()
    ;(await service.connect()).get('/for-ever')
    await service.holding.take('/for-ever')
    waiting.get('/waiting')
    await eventually('it waits', () => service.guard.stats().queued === 1)
    assert.equal(await service.guard.drain(20), false)
    const answer = await waiting.answer()
    assert.deepEqual([answer.status, answer.headers['connection']], [503, 'close'])
  })

  for (const [how, answer] of [
    ['setHeader()', r => r.setHeader('Connection', 'keep-alive').end()],
    ['writeHead() with an object', r => r.writeHead(200, { Connection: 'Keep-Alive' }).end()],
    [
      'writeHead() with a reason and a list',
      r => r.writeHead(200, 'OK', ['x-a', 'b', 'connection', 'keep-alive']).end(),
    ],
    ['none', r => r.writeHead(200, { 'x-a': 'b' }).end()],
  ] as [string, (response: ServerResponse) => void][]) {
    it(`whatever Connection header the app sets: ${how}`, async () => {
      const service = await open({ drainDelayMs: 0 })
      const client = (await service.connect()).get('/')
      const { response } = await service.holding.take()
      const drained = service.guard.drain(LONG_MS)
      answer(response)
      assert.equal((await client.answer()).headers['connection'], 'close')
      assert.equal(await drained, true)
    })
  }

  it('only with the last of several pipelined responses', async () => {
    const service = await open({ drainDelayMs: 0 })
    const client = (await service.connect()).get('/first').get('/second').get('/third')
    const [first, second, third] = [
      await service.holding.take(),
      await service.holding.take(),
      await service.holding.take(),
    ]
    const drained = service.guard.drain(LONG_MS)
    second.response.end('second')
    first.response.end('first')
    third.response.end('third')
    const answers = [await client.answer(), await client.answer(), await client.answer()]
    assert.deepEqual(
      answers.map(({ body, headers }) => [body, headers['connection']]),
      [
        ['first', 'keep-alive'],
        ['second', 'keep-alive'],
        ['third', 'close'],
      ],
    )
    assert.equal(await drained, true)
  })

  it('to a client that is still uploading, which is not reset', async () => {
    const service = await open({ drainDelayMs: 0 })
    const client = await service.connect()
    const body = 'x'.repeat(2_000_000)
    client.send(`POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: ${body.length}\r\n\r\n`)
    const { response } = await service.holding.take()
    const drained = service.guard.drain(LONG_MS)
    response.end('too early')
    const answer = await client.answer()
    assert.deepEqual([answer.body, answer.headers['connection']], ['too early', 'close'])
    // Closing now would answer the client's next bytes with a reset, and real clients then drop the response.
    await new Promise(resolve => setTimeout(resolve, 50))
    assert.equal(client.isClosed, false)
    client.send(body)
    client.socket.end()
    assert.equal(await drained, true)
  })
})

describe('during a drain, an idle connection', () => {
  it('stays open for another request if it has just been used', async () => {
    const service = await open({ drainDelayMs: 0 })
    const client = (await service.connect()).get('/first')
    ;(await service.holding.take()).response.end()
    assert.equal((await client.answer()).headers['connection'], 'keep-alive')
    const drained = service.guard.drain(LONG_MS)
    await eventually('it accepts no more', () => !service.server.listening)
    // Waits for several checks of the drain.
    await new Promise(resolve => setTimeout(resolve, 150))
    client.get('/second')
    ;(await service.holding.take()).response.end()
    assert.deepEqual((await client.answer()).headers['connection'], 'close')
    assert.equal(await drained, true)
  })

  for (const secure of [false, true]) {
    it(`stays open for its keep-alive timeout while no requests arrive, ${secure ? 'https' : 'http'}`, async () => {
      const server = secure ? https.createServer(CERTIFICATE) : http.createServer()
      server.keepAliveTimeout = LONG_MS
      const service = await open({ drainDelayMs: 0 }, server)
      const client = (await service.connect()).get('/first')
      ;(await service.holding.take()).response.end()
      assert.equal((await client.answer()).headers['keep-alive'], 'timeout=60')
      const drained = service.guard.drain(LONG_MS)
      await eventually('it accepts no more', () => !service.server.listening)
      // Longer than the second after which the server counts as quiet.
      await new Promise(resolve => setTimeout(resolve, 1500))
      client.get('/second')
      const second = await Promise.race([service.holding.take('/second'), client.closed.then(() => undefined)])
      assert.ok(second, 'the connection was closed before')
      second.response.end()
      assert.equal((await client.answer()).headers['connection'], 'close')
      assert.equal(await drained, true)
    })
  }

  it('is closed when the drain times out, and the drain counts as complete', async () => {
    const server = http.createServer()
    server.keepAliveTimeout = LONG_MS
    const service = await open({ drainDelayMs: 0 }, server)
    const client = (await service.connect()).get('/first')
    ;(await service.holding.take()).response.end()
    await client.answer()
    assert.equal(await service.guard.drain(1500), true)
    await client.closed
  })

  it('is served if it sends a request while others are closed', async () => {
    const server = http.createServer((_request, response) => void response.end('served'))
    server.keepAliveTimeout = 1
    // Without a listener, Node would close all of them at their timeout, about when the drain closes the first few.
    server.on('timeout', () => undefined)
    const guard = protect(server, { lanes: 1, drainDelayMs: 0 })
    const { port } = await listen(server)
    const sockets = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const socket = net.connect(port, '127.0.0.1').on('error', () => undefined)
        socket.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n')
        await once(socket, 'data')
        return socket
      }),
    )
    const open = new Set(sockets)
    let served = 0
    const askOnAll = (): void => {
      for (const socket of open) {
        socket.once('data', () => served++)
        socket.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n')
      }
    }
    for (const socket of sockets) {
      socket.once('end', () => {
        open.delete(socket)
        // All connections that the server closes in one turn end before this callback.
        if (open.size === sockets.length - 1) setImmediate(askOnAll)
      })
    }
    assert.equal(await guard.drain(LONG_MS), true)
    assert.ok(served >= 24, `${served} of 40`)
  })

  it('stays open if a request has begun on it', async () => {
    const service = await open()
    const client = (await service.connect()).send('GET /slow HTTP/1.1\r\n')
    const drained = service.guard.drain(LONG_MS)
    await eventually('it accepts no more', () => !service.server.listening)
    client.send('Host: test\r\n\r\n')
    ;(await service.holding.take()).response.end()
    assert.equal((await client.answer()).status, 200)
    assert.equal(await drained, true)
  })

  for (const secure of [false, true]) {
    it(`does not delay the drain if it was never used, ${secure ? 'https' : 'http'}`, async () => {
      const server = secure ? https.createServer(CERTIFICATE) : http.createServer()
      const service = await open({}, server)
      const client = await service.connect()
      await eventually('it is there', async () => (await count(server)) === 1)
      assert.equal(await service.guard.drain(LONG_MS), true)
      await client.closed
    })
  }
})

describe('during a drain, an upgraded connection', () => {
  const HANDSHAKE = 'GET /chat HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

  async function upgrade(
    service: Protected,
  ): Promise<{ socket: Duplex; client: Awaited<ReturnType<Service['connect']>> }> {
    const upgraded = once(service.server, 'upgrade') as Promise<[unknown, Duplex]>
    const client = (await service.connect()).send(HANDSHAKE)
    const [, socket] = await upgraded
    socket.on('error', () => undefined)
    return { socket, client }
  }

  it('may end by itself before the timeout', async () => {
    const service = await open()
    const { socket, client } = await upgrade(service)
    const drained = service.guard.drain(LONG_MS)
    await eventually('it accepts no more', () => !service.server.listening)
    socket.end('bye')
    await eventually('it hears of it', () => client.received === 'bye')
    client.destroy()
    assert.equal(await drained, true)
  })

  it('is cut off at the timeout, and the server closes', async () => {
    const service = await open()
    const { client } = await upgrade(service)
    const closed = once(service.server, 'close')
    assert.equal(await service.guard.drain(50), false)
    await client.closed
    await closed
  })

  it('does no harm if the app emitted it without a socket', async () => {
    const service = await open()
    service.server.on('upgrade', () => undefined)
    service.server.emit('upgrade', {} as never, undefined as never, Buffer.alloc(0))
    assert.equal(await service.guard.drain(LONG_MS), true)
  })
})

describe('during a drain, a TLS handshake that hangs', () => {
  it('is cut off at the timeout, and the server closes', async () => {
    const service = await open({}, https.createServer(CERTIFICATE))
    const socket = net.connect(service.port, '127.0.0.1').on('error', () => undefined)
    await eventually('it is there', async () => (await count(service.server)) === 1)
    const closed = once(service.server, 'close')
    assert.equal(await service.guard.drain(50), false)
    await closed
    socket.destroy()
  })
})

function count(server: net.Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, open) => (error === null ? resolve(open) : reject(error)))
  })
}
