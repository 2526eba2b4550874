/**
 * Lanes behave like Node's own listening: each such test runs on a server with lanes and on one without. Uses real
 * sockets on loopback.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type tls from 'node:tls'
import { freePort } from '../../../../lab/src/launch/free-port.ts'
import { DEFAULT_LANES, type Lanes, openLanes } from '../../../src/server/connection/lanes.ts'
import { canShareAddresses } from '../../../src/server/connection/listen-socket.ts'

const canShare = canShareAddresses()
const hasIPv6 = Object.values(os.networkInterfaces()).some(list => list?.some(({ address }) => address === '::1'))
const LANES = canShare ? DEFAULT_LANES : 1

const open = new Set<net.Server>()
after(() => {
  for (const server of open) server.close()
})

function wrap<S extends net.Server>(server: S, kind: string, notes: string[] = []): { server: S; lanes: Lanes } {
  open.add(server)
  const lanes = openLanes(server, kind === 'lanes' ? DEFAULT_LANES : 1, note => notes.push(note))
  return { server, lanes }
}

/** Listens on a port that no other process gets by chance after it is closed. */
async function listening(server: net.Server, options: net.ListenOptions = {}): Promise<number> {
  server.listen({ host: '127.0.0.1', ...options, port: options.port ?? (await freePort()) })
  await once(server, 'listening')
  return (server.address() as net.AddressInfo).port
}

/** Returns connected client sockets. */
async function connect(count: number, port: number, host = '127.0.0.1'): Promise<net.Socket[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = net.connect({ port, host, noDelay: true }).on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    }),
  )
}

const connections = (server: net.Server): Promise<number> =>
  new Promise((resolve, reject) => server.getConnections((error, n) => (error ? reject(error) : resolve(n))))

async function eventually(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (await holds()) return
    await sleep(5)
  }
  assert.fail(`did not happen within 2 s: ${what}`)
}

/** Checks that no process listens on the port: an unshared bind succeeds, which a leftover lane would prevent. */
async function assertFree(port: number, host: string | undefined = '127.0.0.1'): Promise<void> {
  const other = net.createServer()
  other.listen({ port, ...(host === undefined ? {} : { host }) })
  await once(other, 'listening')
  other.close()
  await once(other, 'close')
}

const errorOf = async (server: net.Server): Promise<NodeJS.ErrnoException> =>
  ((await once(server, 'error')) as [NodeJS.ErrnoException])[0]

const get = (port: number, host = '127.0.0.1'): Promise<string> =>
  new Promise((resolve, reject) => {
    http
      .get({ port, host, agent: false }, response => {
        let body = ''
        response.setEncoding('utf8').on('data', text => (body += text))
        response.on('end', () => resolve(body))
      })
      .on('error', reject)
  })

describe('the lanes of a process', { skip: !canShare }, () => {
  it('are those of three servers; further servers have one listening socket each until a server closes', async () => {
    const servers = Array.from({ length: 6 }, () => wrap(http.createServer(), 'lanes'))
    for (const { server } of servers) await listening(server)
    const counts = servers.map(({ lanes }) => lanes.count)
    assert.deepEqual(counts, [DEFAULT_LANES, DEFAULT_LANES, DEFAULT_LANES, 1, 1, 1])
    servers[0]!.server.close()
    const { server, lanes } = wrap(http.createServer(), 'lanes')
    await listening(server)
    assert.equal(lanes.count, DEFAULT_LANES)
    for (const each of [server, ...servers.map(({ server }) => server)]) each.close()
  })

  it('do not shorten the backlog of a server that gets none', async () => {
    const servers = Array.from({ length: 3 }, () => wrap(http.createServer(), 'lanes').server)
    for (const server of servers) await listening(server)
    const { server } = wrap(http.createServer(), 'lanes')
    const listen = spyOnListen()
    await listening(server, { port: 0, backlog: 100 })
    assert.deepEqual(listen(), [100])
    for (const each of [server, ...servers]) each.close()
  })
})

for (const kind of ['plain', 'lanes']) {
  describe(`a server with ${kind === 'plain' ? 'one listener' : 'accept lanes'}`, () => {
    const expected = kind === 'lanes' ? LANES : 1

    it('has its port, address and listening flag right after listen(0)', async () => {
      const { server, lanes } = wrap(http.createServer(), kind)
      assert.equal(lanes.count, 0)
      assert.equal(server.listen(0), server)
      assert.equal(server.listening, true)
      assert.equal(lanes.count, expected)
      const { port } = server.address() as net.AddressInfo
      assert.ok(port > 0)
      server.close()
      assert.equal(server.listening, false)
      assert.equal(lanes.count, 0)
      await assertFree(port, undefined)
    })

    it('takes every form of arguments', async () => {
      const forms: ((server: net.Server, done: () => void) => void)[] = [
        (server, done) => server.listen(done),
        (server, done) => server.listen(0, done),
        (server, done) => server.listen('0', done),
        (server, done) => server.listen(0, 100, done),
        (server, done) => server.listen(0, '127.0.0.1', done),
        (server, done) => server.listen(0, '127.0.0.1', 100, done),
        (server, done) => server.listen({ port: 0 }, done),
        (server, done) => server.listen({ port: undefined }, done),
        (server, done) => server.listen({ port: 0, host: 'localhost', exclusive: false }, done),
        (server, done) => server.listen({ port: 0, host: '127.0.0.1', backlog: 5, exclusive: true }, done),
      ]
      for (const form of forms) {
        const { server, lanes } = wrap(net.createServer(), kind)
        await new Promise<void>(resolve => form(server, resolve))
        assert.equal(lanes.count, expected, form.toString())
        const socket = net.connect((server.address() as net.AddressInfo).port, 'localhost')
        await once(server, 'connection')
        socket.destroy()
        server.close()
        await once(server, 'close')
      }
    })

    it('emits listening once and calls the callback once, on a later tick', async () => {
      const { server } = wrap(http.createServer(), kind)
      const order: string[] = []
      server.on('listening', () => order.push('event'))
      server.listen(0, () => order.push('callback'))
      order.push('returned')
      await sleep(20)
      assert.deepEqual(order, ['returned', 'event', 'callback'])
      server.close()
    })

    it('throws on a bad port, at once, and can listen afterwards', async () => {
      const { server, lanes } = wrap(http.createServer(), kind)
      assert.throws(() => server.listen(70_000), { code: 'ERR_SOCKET_BAD_PORT' })
      assert.throws(() => server.listen({} as net.ListenOptions), { code: 'ERR_INVALID_ARG_VALUE' })
      await listening(server)
      assert.equal(lanes.count, expected)
      server.close()
    })

    it('throws ERR_SERVER_ALREADY_LISTEN when listen() is called twice', async () => {
      const { server, lanes } = wrap(
        http.createServer((_, response) => response.end('ok')),
        kind,
      )
      const port = await listening(server)
      assert.throws(() => server.listen(0), { code: 'ERR_SERVER_ALREADY_LISTEN' })
      assert.equal(lanes.count, expected)
      assert.equal(await get(port), 'ok')
      server.close()
    })

    it('raises EADDRINUSE with the message of Node, whether a plain server or lanes hold the port', async () => {
      for (const holder of ['plain', 'lanes']) {
        for (const host of [undefined, '127.0.0.1']) {
          const { server: first } = wrap(net.createServer(), holder)
          first.listen({ port: 0, ...(host ? { host } : {}) })
          if (host) await once(first, 'listening')
          const { port } = first.address() as net.AddressInfo
          const { server, lanes } = wrap(http.createServer(), kind)
          server.listen({ port, ...(host ? { host } : {}) }, () => assert.fail('must not listen'))
          const error = await errorOf(server)
          assert.equal(error.code, 'EADDRINUSE')
          const shown = host ? `127.0.0.1:${port}` : `${hasIPv6 ? '::' : '0.0.0.0'}:${port}`
          assert.equal(error.message, `listen EADDRINUSE: address already in use ${shown}`)
          assert.equal(lanes.count, 0)
          assert.equal(server.address(), null)

          // Like many apps, tries again once the port is free.
          first.close()
          server.removeAllListeners('listening')
          await listening(server, { port, host: '127.0.0.1' })
          assert.equal(lanes.count, expected)
          server.close()
        }
      }
    })

    it('raises EADDRINUSE when a wildcard listener overlaps', async () => {
      const { server: first } = wrap(net.createServer(), kind)
      const port = await listening(first, { host: '0.0.0.0' })
      const { server } = wrap(net.createServer(), kind)
      server.listen(port, '127.0.0.1')
      assert.equal((await errorOf(server)).code, 'EADDRINUSE')
      first.close()
    })

    it('raises EADDRNOTAVAIL for an address that is not local', async () => {
      const { server } = wrap(http.createServer(), kind)
      server.listen(18_080, '192.0.2.1') // TEST-NET-1
      const error = await errorOf(server)
      assert.equal(error.code, 'EADDRNOTAVAIL')
      assert.equal(error.message, 'listen EADDRNOTAVAIL: address not available 192.0.2.1:18080')
    })

    it('resolves a host name first, like Node', async () => {
      const { server, lanes } = wrap(
        http.createServer((_, response) => response.end('ok')),
        kind,
      )
      server.listen(0, 'localhost')
      assert.equal(server.listening, false)
      assert.equal(server.address(), null)
      await once(server, 'listening')
      assert.equal(lanes.count, expected)
      const { port, address } = server.address() as net.AddressInfo
      assert.equal(await get(port, address), 'ok')
      server.close()

      const unknown = wrap(http.createServer(), kind).server
      unknown.listen(0, 'no-such-host.invalid')
      assert.match(String((await errorOf(unknown)).code), /^(ENOTFOUND|EAI_AGAIN)$/)
    })

    it('does not listen when closed while the host name resolves', async () => {
      const { server, lanes } = wrap(net.createServer(), kind)
      server.listen(0, 'localhost')
      server.close()
      await sleep(50)
      assert.equal(server.listening, false)
      assert.equal(lanes.count, 0)
    })

    it('counts every connection', async () => {
      const { server } = wrap(net.createServer(), kind)
      const port = await listening(server)
      const sockets = await connect(40, port)
      await eventually(async () => (await connections(server)) === 40, '40 connections')
      for (const socket of sockets.splice(0, 15)) socket.destroy()
      await eventually(async () => (await connections(server)) === 25, '25 connections')
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    })

    it('applies maxConnections over all listeners, also when set later, and emits drop', async () => {
      const { server } = wrap(net.createServer(), kind)
      server.maxConnections = 5
      const drops: (net.DropArgument | undefined)[] = []
      server.on('drop', data => drops.push(data))
      const port = await listening(server)
      const first = await connect(30, port)
      await eventually(() => drops.length === 25, '25 drops')
      assert.equal(await connections(server), 5)
      assert.equal(drops[0]?.localPort, port)
      server.maxConnections = 8
      const second = await connect(20, port)
      await eventually(() => drops.length === 42, '17 further drops')
      assert.equal(await connections(server), 8)
      for (const socket of [...first, ...second]) socket.destroy()
      server.close()
    })

    it('gives connections the options of the server', async () => {
      const { server } = wrap(
        net.createServer({ allowHalfOpen: true, pauseOnConnect: true, highWaterMark: 12_345, noDelay: true }),
        kind,
      )
      const port = await listening(server)
      const accepted: net.Socket[] = []
      server.on('connection', (socket: net.Socket) => {
        accepted.push(socket)
        assert.equal(socket.allowHalfOpen, true)
        assert.equal(socket.isPaused(), true)
        assert.equal(socket.readableHighWaterMark, 12_345)
        assert.equal((socket as unknown as { server: net.Server }).server, server)
        assert.equal(socket.localPort, port)
      })
      const sockets = await connect(30, port)
      await eventually(() => accepted.length === 30, '30 accepted')
      for (const socket of [...sockets, ...accepted]) socket.destroy()
      server.close()
    })

    it('close() stops listening at once, and calls back after the last connection of any listener ended', async () => {
      const { server, lanes } = wrap(net.createServer(), kind)
      const port = await listening(server)
      const sockets = await connect(40, port)
      await eventually(async () => (await connections(server)) === 40, '40 connections')
      let closed = false
      server.close(() => {
        closed = true
      })
      assert.equal(lanes.count, 0)
      await assertFree(port)
      for (const socket of sockets.splice(0, 39)) socket.destroy()
      await eventually(async () => (await connections(server)) === 1, 'one connection')
      await sleep(20)
      assert.equal(closed, false)
      sockets[0]!.destroy()
      await eventually(() => closed, 'closed')
      await assert.rejects(
        new Promise<void>((resolve, reject) => server.close(error => (error ? reject(error) : resolve()))),
        { code: 'ERR_SERVER_NOT_RUNNING' },
      )
    })

    it('listens again after close, on the same port at once', async () => {
      const { server, lanes } = wrap(
        http.createServer((_, response) => response.end('ok')),
        kind,
      )
      const port = await listening(server)
      for (let i = 0; i < 3; i++) {
        server.close()
        server.listen(port, '127.0.0.1')
        await once(server, 'listening')
        assert.equal(lanes.count, expected)
        assert.equal(await get(port), 'ok')
      }
      server.close()
    })

    it('listens on a port on which connections of an earlier listener are still open', async () => {
      const earlier = wrap(net.createServer(), kind).server
      const port = await listening(earlier)
      const [socket] = await connect(1, port)
      await eventually(async () => (await connections(earlier)) === 1, 'one connection')
      earlier.close()
      const { server, lanes } = wrap(net.createServer(), kind)
      await listening(server, { port })
      assert.equal(lanes.count, expected)
      socket!.destroy()
      server.close()
    })

    it('closeIdleConnections() and closeAllConnections() reach the connections of every listener', async () => {
      const { server } = wrap(
        http.createServer((request, response) => {
          if (request.url === '/slow') return
          response.end('ok')
        }),
        kind,
      )
      const port = await listening(server)
      const sockets = await connect(40, port)
      let answered = 0
      let ended = 0
      for (const [i, socket] of sockets.entries()) {
        socket.on('data', () => answered++).on('close', () => ended++)
        socket.write(`GET ${i < 10 ? '/slow' : '/'} HTTP/1.1\r\nHost: x\r\n\r\n`)
      }
      await eventually(() => answered >= 30, '30 answers')
      server.closeIdleConnections()
      await eventually(() => ended === 30, '30 idle connections closed')
      server.closeAllConnections()
      await eventually(() => ended === 40, 'all connections closed')
      server.close()
      await once(server, 'close')
    })

    it('closes on an aborted signal', async () => {
      const { server, lanes } = wrap(net.createServer(), kind)
      const controller = new AbortController()
      const port = await listening(server, { signal: controller.signal })
      const done = once(server, 'close')
      controller.abort()
      await done
      assert.equal(lanes.count, 0)
      await assertFree(port)
    })

    it('closes on asyncDispose', async () => {
      const { server } = wrap(net.createServer(), kind)
      const port = await listening(server)
      await server[Symbol.asyncDispose]()
      await assertFree(port)
    })

    it('listens on IPv6, alone or as dual stack', { skip: !hasIPv6 }, async () => {
      const answer = http.createServer((_, response) => response.end('ok'))
      const dual = wrap(answer, kind)
      dual.server.listen(0)
      const { port, address, family } = dual.server.address() as net.AddressInfo
      assert.deepEqual([address, family], ['::', 'IPv6'])
      for (let i = 0; i < 20; i++) {
        assert.equal(await get(port, '127.0.0.1'), 'ok')
        assert.equal(await get(port, '::1'), 'ok')
      }
      dual.server.close()

      // Under ipv6Only another server may use the same port in the other family.
      const v4 = wrap(net.createServer(), kind)
      const port4 = await listening(v4.server, { host: '0.0.0.0' })
      const only = wrap(
        http.createServer((_, response) => response.end('ok')),
        kind,
      )
      await listening(only.server, { host: '::', port: port4, ipv6Only: true })
      assert.equal(only.lanes.count, expected)
      assert.equal(v4.lanes.count, expected)
      assert.equal(await get(port4, '::1'), 'ok')
      v4.server.close()
      await once(v4.server, 'close')
      await assert.rejects(get(port4, '127.0.0.1'), { code: 'ECONNREFUSED' })
      only.server.close()

      const literal = wrap(net.createServer(), kind)
      await listening(literal.server, { host: '::1' })
      assert.equal(literal.lanes.count, expected)
      assert.equal((literal.server.address() as net.AddressInfo).address, '::1')
      literal.server.close()
    })

    it('listens on a Unix socket with one listener', { skip: process.platform === 'win32' }, async () => {
      const { server, lanes } = wrap(
        http.createServer((_, response) => response.end('ok')),
        kind,
      )
      const socketPath = path.join(os.tmpdir(), `meltproof-lanes-${process.pid}-${kind}.sock`)
      server.listen(socketPath)
      await once(server, 'listening')
      assert.equal(lanes.count, 1)
      assert.equal(server.address(), socketPath)
      server.close()
      await once(server, 'close')
    })

    it('emits an error of accept() as an error event', async () => {
      // UV_EMFILE as libuv would report it. Calls the handle, because the real error needs an exhausted process.
      const { server } = wrap(net.createServer(), kind)
      await listening(server)
      type Handle = { onconnection(status: number, client: unknown): void }
      const handle = (server as unknown as { _handle: Handle })._handle
      const seen = errorOf(server)
      handle.onconnection(-24, undefined)
      assert.equal((await seen).code, 'EMFILE')
      server.close()
    })

    it('serves HTTPS without mixing up responses', async () => {
      const { server, lanes } = wrap(
        https.createServer(tlsServer, (request, response) => response.end(request.url)),
        kind,
      )
      const port = await listening(server)
      assert.equal(lanes.count, expected)
      const bodies = await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          const request = https.get({ port, host: '127.0.0.1', path: `/${i}`, agent: false, ...tlsClient })
          const [response] = (await once(request, 'response')) as [http.IncomingMessage]
          return Buffer.concat(await response.toArray()).toString()
        }),
      )
      assert.deepEqual(
        bodies,
        Array.from({ length: 20 }, (_, i) => `/${i}`),
      )
      server.close()
      await once(server, 'close')
    })
  })
}

describe('accept lanes', { skip: canShare ? false : 'no SO_REUSEPORT here' }, () => {
  it('accept several connections per turn of the loop, where one listener accepts one', async () => {
    const mostPerTurn = async (count: number): Promise<number> => {
      const server = net.createServer()
      open.add(server)
      openLanes(server, count)
      const port = await listening(server)
      let inTurn = 0
      let most = 0
      let accepted = 0
      let counting = true
      const turn = (): void => {
        most = Math.max(most, inTurn)
        inTurn = 0
        if (counting) setImmediate(turn)
      }
      turn()
      server.on('connection', () => {
        inTurn++
        accepted++
      })
      const sockets = await connect(100, port)
      await eventually(() => accepted === 100, '100 accepted')
      counting = false
      for (const socket of sockets) socket.destroy()
      server.close()
      return most
    }
    assert.equal(await mostPerTurn(1), 1)
    assert.ok((await mostPerTurn(16)) >= 5)
    assert.ok((await mostPerTurn(4)) <= 4)
  })

  it('share a port only if both servers set reusePort, e.g. for a rolling restart', async () => {
    const old = wrap(
      http.createServer((_, response) => response.end('old')),
      'lanes',
    )
    const port = await listening(old.server, { reusePort: true })
    const next = wrap(
      http.createServer((_, response) => response.end('next')),
      'lanes',
    )
    await listening(next.server, { port, reusePort: true })
    assert.deepEqual([old.lanes.count, next.lanes.count], [DEFAULT_LANES, DEFAULT_LANES])
    const seen = new Set<string>()
    for (let i = 0; i < 60; i++) seen.add(await get(port))
    assert.deepEqual([...seen].sort(), ['next', 'old'])
    const stranger = wrap(http.createServer(), 'lanes')
    stranger.server.listen(port, '127.0.0.1')
    assert.equal((await errorOf(stranger.server)).code, 'EADDRINUSE')
    old.server.close()
    for (let i = 0; i < 20; i++) assert.equal(await get(port), 'next')
    next.server.close()
  })

  it('end with close(): the server keeps listening, and later listen() calls open one listener', async () => {
    const { server, lanes } = wrap(
      http.createServer((_, response) => response.end('ok')),
      'lanes',
    )
    const port = await listening(server)
    assert.equal(lanes.count, DEFAULT_LANES)
    lanes.close()
    lanes.close()
    assert.equal(lanes.count, 1)
    assert.equal(Object.hasOwn(server, '_listen2'), false)
    for (let i = 0; i < 30; i++) assert.equal(await get(port), 'ok')
    server.unref().ref()
    server.close()
    await assertFree(port)
    await listening(server)
    assert.equal(lanes.count, 1)
    server.close()
  })

  it('close() leaves the wrapper in place that other code put around the wrapper of the lanes', async () => {
    type Wrapped = { _listen2: (...args: unknown[]) => void }
    const { server, lanes } = wrap(net.createServer(), 'lanes')
    const ours = (server as unknown as Wrapped)._listen2
    let calls = 0
    const theirs = function (this: unknown, ...args: unknown[]): void {
      calls++
      ours.apply(this, args)
    }
    ;(server as unknown as Wrapped)._listen2 = theirs
    lanes.close()
    assert.equal((server as unknown as Wrapped)._listen2, theirs)
    await listening(server)
    assert.deepEqual([calls, lanes.count], [1, 1])
    server.close()
  })

  it('use an onconnection that is replaced after listen(), as node:cluster does', async () => {
    const { server } = wrap(net.createServer(), 'lanes')
    const port = await listening(server)
    type Internals = { _handle: { onconnection: (status: number, client: { close(): void }) => void } }
    let taken = 0
    ;(server as unknown as Internals)._handle.onconnection = (_, client) => {
      taken++
      client.close()
    }
    await connect(30, port)
    await eventually(() => taken === 30, '30 taken')
    assert.equal(await connections(server), 0)
    server.close()
  })

  it('closeOne() closes one lane at a time, and the last one still accepts', async () => {
    const server = net.createServer()
    open.add(server)
    const lanes = openLanes(server, 3)
    assert.equal(lanes.closeOne(), false)
    const port = await listening(server)
    assert.equal(lanes.closeOne(), true)
    assert.equal(lanes.closeOne(), true)
    assert.equal(lanes.count, 1)
    assert.equal(lanes.closeOne(), false)
    const accepted = once(server, 'connection') as Promise<[net.Socket]>
    const [client] = await connect(1, port)
    const [socket] = await accepted
    socket.destroy()
    client!.destroy()
    server.close()
  })

  it('do not warn on a Unix socket, or on a handle of another module', async () => {
    const bound = net.createServer().listen(0)
    open.add(bound)
    const socketPath = path.join(os.tmpdir(), `meltproof-lanes-${process.pid}-why.sock`)
    for (const options of [{ path: socketPath }, bound as net.ListenOptions]) {
      const server = net.createServer()
      open.add(server)
      const lanes = openLanes(server, 16, warning => assert.fail(warning))
      server.listen(options)
      await once(server, 'listening')
      assert.equal(lanes.count, 1)
      server.close()
    }
  })

  it('do not warn when one lane is configured', async () => {
    const server = net.createServer()
    const lanes = openLanes(server, 1, () => assert.fail('a warning'))
    await listening(server)
    assert.equal(lanes.count, 1)
    server.close()
  })

  it('survive an onWarning that throws', async () => {
    const server = net.createServer()
    openLanes(server, 16, () => {
      throw new Error('logger')
    })
    server.listen({ path: path.join(os.tmpdir(), `meltproof-lanes-${process.pid}-warning.sock`) })
    await once(server, 'listening')
    server.close()
  })

  it('have the whole backlog each', { skip: process.platform !== 'linux' }, async () => {
    const backlogs = async (backlog: number | undefined): Promise<number[]> => {
      const server = net.createServer()
      const listen = spyOnListen()
      openLanes(server, 16)
      await listening(server, backlog === undefined ? { port: 0 } : { port: 0, backlog })
      server.close()
      return listen()
    }
    assert.deepEqual(await backlogs(undefined), Array(16).fill(511))
    assert.deepEqual(await backlogs(4096), Array(16).fill(4096))
    assert.deepEqual(await backlogs(100), Array(16).fill(100))
  })
})

/** Records the backlog of every listen(2) until it is read. */
function spyOnListen(): () => number[] {
  const sample = net.createServer().listen(0) as unknown as { _handle: object; close(): void }
  const prototype = Object.getPrototypeOf(sample._handle) as { listen(backlog: number): number }
  sample.close()
  const { listen } = prototype
  const seen: number[] = []
  prototype.listen = function (backlog) {
    seen.push(backlog)
    return listen.call(this, backlog)
  }
  return () => {
    prototype.listen = listen
    return seen
  }
}

/** https with a pre-shared key, which avoids a private key in the repository. */
const psk = Buffer.from('meltproof')
const tlsServer: https.ServerOptions = { ciphers: 'PSK', maxVersion: 'TLSv1.2', pskCallback: () => psk }
const tlsClient: tls.ConnectionOptions = {
  ciphers: 'PSK',
  maxVersion: 'TLSv1.2',
  pskCallback: () => ({ psk, identity: 'test' }),
  checkServerIdentity: () => undefined,
}
