/**
 * Upgrades and CONNECT: passed to their listener as without meltproof. Without a listener they do not bypass the gate.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { describe, it } from 'node:test'
import { now } from '../../../src/clock.ts'
import { explainShed } from '../../../src/admission/explanation.ts'
import { eventually, Holding, memoryThat, startGated, startFull } from '../harness.ts'

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const HANDSHAKE = [
  'GET /chat HTTP/1.1',
  'Host: test',
  'Connection: Upgrade',
  'Upgrade: websocket',
  `Sec-WebSocket-Key: ${KEY}`,
  'Sec-WebSocket-Version: 13',
  '',
  '',
].join('\r\n')

/** Accepts a WebSocket and echoes everything. */
function accept(socket: Duplex, head: Buffer): void {
  const token = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      `Sec-WebSocket-Accept: ${token}\r\n\r\n`,
  )
  socket.write(head)
  socket.pipe(socket)
}

for (const secure of [false, true]) {
  describe(`a WebSocket handshake, ${secure ? 'https' : 'http'}`, () => {
    it('is passed to its listener with the bytes behind it, even while requests are shed', async () => {
      const service = await startFull({ secure })
      service.server.on('upgrade', (_request, socket, head) => accept(socket, head))
      const client = await service.connect()
      assert.equal((await client.get('/shed').answer()).status, 503)
      client.send(`${HANDSHAKE}early bytes`)
      const answer = await client.answer()
      assert.equal(answer.status, 101)
      assert.equal(answer.headers['sec-websocket-accept'], 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
      client.send(', late bytes')
      await eventually('both come back', () => client.received === 'early bytes, late bytes')
    })

    it('leaves no idle timeout of meltproof on its socket', async () => {
      const service = await startFull({ secure })
      let timeout: number | undefined
      service.server.on('upgrade', (_request, socket, head) => {
        timeout = (socket as Duplex & { timeout: number }).timeout
        accept(socket, head)
      })
      const client = await service.connect()
      assert.equal((await client.get('/shed').answer()).status, 503)
      assert.equal((await client.send(HANDSHAKE).answer()).status, 101)
      assert.equal(timeout, 0)
    })
  })
}

describe('an upgrade without a listener', () => {
  it('is admitted or shed like any request', async () => {
    const service = await startFull()
    const client = await service.connect()
    assert.equal((await client.send(HANDSHAKE).answer()).status, 503)
    await service.freePermits()
    client.send(HANDSHAKE)
    const { response } = await service.holding.take('/chat')
    assert.equal(service.requestPath.stats().inflight, 1)
    response.end('no such thing')
    assert.equal((await client.answer()).body, 'no such thing')
    assert.deepEqual(service.holding.started, ['/in-service', '/waiting', '/chat'])
  })

  it('leaves the queue when its client disconnects', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler)
    ;(await service.connect()).get('/first')
    const first = await holding.take('/first')
    const client = (await service.connect()).send(HANDSHAKE)
    await eventually('it waits', () => service.requestPath.stats().queued === 1)
    client.destroy()
    await eventually('it has left', () => service.requestPath.stats().queued === 0)
    first.response.end()
    await eventually('the permit is back', () => service.requestPath.stats().inflight === 0)
  })

  it('returns its permit if its client disconnects before its turn to be answered', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler, { limit: 2 })
    const client = (await service.connect()).get('/first').send(HANDSHAKE)
    const both = [await holding.take('/first'), await holding.take('/chat')]
    client.destroy()
    await eventually('it has gone', () => service.requestPath.stats().abandoned === 2)
    for (const { response } of both) response.end()
    await eventually('both permits are back', () => service.requestPath.stats().inflight === 0)
  })

  it('leaves the queue if its client disconnects before its turn to be answered', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler, { limit: 1 })
    const client = (await service.connect()).get('/first').send(HANDSHAKE)
    const { response } = await holding.take('/first')
    await eventually('the upgrade waits', () => service.requestPath.stats().queued === 1)
    client.destroy()
    await eventually('it has gone', () => service.requestPath.stats().abandoned === 1)
    response.end()
    await eventually(
      'nothing is held',
      () => service.requestPath.stats().inflight === 0 && service.requestPath.stats().queued === 0,
    )
    assert.deepEqual(holding.started, ['/first'])
  })
})

describe('an upgrade pipelined behind a request in service', () => {
  it('returns the permit of that request, because its client may disconnect unseen', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler)
    const sockets: Duplex[] = []
    service.server.on('upgrade', (_request, socket) => sockets.push(socket.on('error', () => {})))
    // More than a request buffers, so Node pauses the socket, keeps parsing, and leaves it paused after the upgrade.
    const body = 'x'.repeat(65_000)
    const client = await service.connect()
    client.send(`PUT /unread HTTP/1.1\r\nHost: test\r\nContent-Length: ${body.length}\r\n\r\n${body}${HANDSHAKE}`)
    await holding.take('/unread')
    await eventually('it is upgraded', () => sockets.length === 1)
    client.destroy()
    await eventually('the permit is back', () => service.requestPath.stats().inflight === 0)
    for (const socket of sockets) socket.destroy()
  })
})

describe('an upgrade pipelined behind waiting requests', () => {
  it('sheds them in order, with the upgrade as the reason, before it is answered itself', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler)
    service.server.on('upgrade', (_request, socket, head) => accept(socket, head))
    ;(await service.connect()).get('/first')
    await holding.take('/first')
    const client = (await service.connect()).get('/waits').get('/behind').send(HANDSHAKE)
    for (const status of [503, 503, 101]) assert.equal((await client.answer()).status, status)
    const { upgrade, late } = service.requestPath.stats().shed
    assert.deepEqual({ upgrade, late }, { upgrade: 2, late: 0 })
    assert.match(
      explainShed(service.requestPath.processGate.sheds.last, now(), 'request that was shed'),
      /asked to upgrade the connection, and an upgrade cannot wait/,
    )
  })
})

describe('CONNECT', () => {
  it('is passed to its listener', async () => {
    const service = await startFull()
    service.server.on('connect', (request, socket, head) => {
      assert.equal(request.url, 'example.com:443')
      socket.write('HTTP/1.1 200 Established\r\nContent-Length: 0\r\n\r\n')
      socket.write(head)
      socket.pipe(socket)
    })
    const client = await service.connect()
    client.send('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\nping')
    assert.equal((await client.answer()).status, 200)
    await eventually('the tunnel carries', () => client.received === 'ping')
  })

  it('may lead to the same server, which answers the requests of the tunnel in order', async () => {
    const time = { has: false, spent: () => {}, spentAll: () => {}, interrupted: () => {}, hasTime: () => time.has }
    let isFull = false
    const holding = new Holding()
    const service = await startGated(holding.handler, {
      policy: { shedBudget: time, memory: memoryThat(() => isFull) },
    })
    service.server.on('connect', (_request, socket) => {
      socket.write('HTTP/1.1 200 Established\r\nContent-Length: 0\r\n\r\n')
      service.server.emit('connection', socket)
    })
    const client = await service.connect()
    client.send('CONNECT test:80 HTTP/1.1\r\nHost: test\r\n\r\n')
    assert.equal((await client.answer()).status, 200)
    client.get('/a')
    ;(await holding.take('/a')).response.end('a')
    assert.equal((await client.answer()).body, 'a')
    isFull = true
    client.get('/b')
    await eventually('it is shed', () => service.requestPath.stats().shed.memory === 1)
    isFull = false
    client.get('/c')
    await new Promise(resolve => setTimeout(resolve, 30))
    assert.equal(client.received, '')
    time.has = true
    assert.equal((await client.answer()).status, 503)
    ;(await holding.take('/c')).response.end('c')
    assert.equal((await client.answer()).body, 'c')
    const { open, upgraded } = service.requestPath.connections
    assert.deepEqual([[...open].length, upgraded.size], [1, 0])
    client.destroy()
    await eventually('it is closed', () => [...open].length === 0)
  })
})

for (const secure of [false, true]) {
  describe(`a socket that was paused at its upgrade, ${secure ? 'https' : 'http'}`, () => {
    const get = 'GET /a HTTP/1.1\r\nHost: test\r\n\r\n'
    for (const [what, count] of [
      ['two requests behind one that waits', 2],
      ['as many as we read', 17],
      ['more than we read', 60],
      ['more than Node reads', 400],
    ] as const) {
      // Over TLS, writes end later, and Node lets the response to an upgrade overtake those that it queues itself.
      if (secure && count === 400) continue
      it(`resumes, and closes when its client does: ${what}`, async () => {
        const holding = new Holding()
        const service = await startGated(holding.handler, { secure })
        const sockets: Duplex[] = []
        service.server.on('upgrade', (_request, socket, head) => {
          sockets.push(socket.on('error', () => {}))
          accept(socket, head)
        })
        ;(await service.connect()).get('/first')
        await holding.take('/first')
        const client = (await service.connect()).send(get.repeat(count) + HANDSHAKE)
        for (let i = 0; i < count; i++) assert.equal((await client.answer()).status, 503)
        assert.equal((await client.answer()).status, 101)
        client.send('ping')
        await eventually('it comes back', () => client.received === 'ping')
        client.destroy()
        await eventually('the socket is closed', () => sockets[0]!.destroyed)
      })
    }

    it('resumes after a request body had paused it', async () => {
      const holding = new Holding()
      const service = await startGated(holding.handler, { secure })
      const sockets: Duplex[] = []
      service.server.on('upgrade', (_request, socket) => {
        sockets.push(socket.on('error', () => {}).resume())
        socket.on('end', () => socket.end())
      })
      const body = 'x'.repeat(65_000)
      const client = await service.connect()
      client.send(`PUT /unread HTTP/1.1\r\nHost: test\r\nContent-Length: ${body.length}\r\n\r\n${body}${HANDSHAKE}`)
      await eventually('it is upgraded', () => sockets.length === 1)
      client.destroy()
      await eventually('the socket is closed', () => sockets[0]!.destroyed)
    })
  })
}
