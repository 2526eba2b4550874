/** Libraries for graceful shutdown close idle connections, so one with a waiting request must look busy. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { createRequire } from 'node:module'
import type { AddressInfo, Socket } from 'node:net'
import { describe, it } from 'node:test'
import { protect } from '../../src/server/protect.ts'
import { connect, eventually, Holding } from './harness.ts'
import { CERTIFICATE } from './tls.fixture.ts'

const require = createRequire(import.meta.url)

/** Attaches the library to the server. Returns a function that shuts it down. */
type Library = (server: http.Server) => () => unknown

const LIBRARIES: Record<string, Library> = {
  'node:http': server => () => server.close(),
  stoppable: server => {
    require('stoppable')(server)
    return () => (server as http.Server & { stop(): void }).stop()
  },
  '@godaddy/terminus': server => {
    require('@godaddy/terminus').createTerminus(server, {
      signal: 'SIGHUP',
      useExit0: false,
      onShutdown: () => new Promise(() => undefined), // it would end this process
    })
    return () => process.emit('SIGHUP')
  },
  'http-graceful-shutdown': server =>
    require('http-graceful-shutdown')(server, { forceExit: false, signals: 'SIGWINCH' }),
  'http-terminator': server =>
    require('http-terminator').createHttpTerminator({ server, gracefulTerminationTimeout: 10_000 }).terminate,
  'http-shutdown': likeHttpShutdown,
}

/** http-shutdown 1.2 marks sockets between requests, and destroys those that are marked. */
function likeHttpShutdown(server: http.Server, force = false): () => void {
  type Marked = Socket & { _isIdle?: boolean }
  const sockets = new Set<Marked>()
  let isShuttingDown = false
  const destroy = (socket: Marked): void => {
    if (force || (socket._isIdle && isShuttingDown)) socket.destroy()
  }
  const onConnection = (socket: Marked): void => {
    socket._isIdle = true
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  }
  server.on('connection', onConnection)
  server.on('request', (request, response) => {
    const socket: Marked = request.socket
    socket._isIdle = false
    response.on('finish', () => {
      socket._isIdle = true
      destroy(socket)
    })
  })
  return () => {
    isShuttingDown = true
    server.close()
    for (const socket of sockets) destroy(socket)
  }
}

/** These let both of two pipelined requests be served. The others send `Connection: close` with the first response. */
const PIPELINES = new Set(['node:http', 'stoppable', '@godaddy/terminus'])

for (const [name, library] of Object.entries(LIBRARIES)) {
  for (const secure of [false, true]) {
    // These cut every https connection, also without meltproof.
    if (secure && (name === 'http-graceful-shutdown' || name === 'http-shutdown')) continue
    describe(`${name}, ${secure ? 'https' : 'http'}`, () => {
      it('closes idle connections, but none with a waiting request', async () => {
        const holding = new Holding()
        const server = secure ? https.createServer(CERTIFICATE, holding.handler) : http.createServer(holding.handler)
        const shutDown = library(server)
        const guard = protect(server, { limit: 1, deadlineMs: 60_000 })
        server.listen(0, '127.0.0.1')
        await once(server, 'listening')
        const { port } = server.address() as AddressInfo
        const closed = once(server, 'close')
        const idle = (await connect(port, secure)).get('/served')
        ;(await holding.take('/served')).response.end('served')
        await idle.answer()
        const first = (await connect(port, secure)).get('/first')
        const { response } = await holding.take('/first')
        const second = (await connect(port, secure)).get('/second')
        const piped = (await connect(port, secure)).get('/third')
        if (PIPELINES.has(name)) piped.get('/fourth')
        await eventually('they wait', () => guard.stats().queued === 2)

        void shutDown()
        assert.equal(await idle.rest(), '')
        response.end('first')
        assert.equal((await first.answer()).body, 'first')
        const serve = async (): Promise<void> => {
          const held = await holding.take()
          held.response.end(held.request.url)
        }
        await Promise.all([serve(), serve()])
        assert.equal((await second.answer()).body, '/second')
        assert.equal((await piped.answer()).body, '/third')
        if (PIPELINES.has(name)) {
          await serve()
          assert.equal((await piped.answer()).body, '/fourth')
        }
        for (const client of [first, second, piped]) client.destroy()
        await closed
      })
    })
  }
}

it('http-shutdown still closes connections with waiting requests when it is forced to', async () => {
  const holding = new Holding()
  const server = http.createServer(holding.handler)
  const shutDown = likeHttpShutdown(server, true)
  const guard = protect(server, { limit: 1, deadlineMs: 60_000 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const first = (await connect(port)).get('/first')
  await holding.take('/first')
  const second = (await connect(port)).get('/second')
  await eventually('it waits', () => guard.stats().queued === 1)
  const closed = once(server, 'close')
  shutDown()
  assert.equal((await first.rest()) + (await second.rest()), '')
  await closed
})

it('an app may close idle connections any number of times while a request waits', async () => {
  const holding = new Holding()
  const server = http.createServer(holding.handler)
  const guard = protect(server, { limit: 1, deadlineMs: 60_000 })
  const sockets: Socket[] = []
  server.on('connection', socket => sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const first = (await connect(port)).get('/first')
  const { response } = await holding.take('/first')
  const second = (await connect(port)).get('/second')
  await eventually('it waits', () => guard.stats().queued === 1)
  for (let i = 0; i < 20_000; i++) server.closeIdleConnections()
  response.end('first')
  assert.equal((await first.answer()).body, 'first')
  ;(await holding.take('/second')).response.end('second')
  assert.equal((await second.answer()).body, 'second')
  for (const socket of sockets) socket.end()
  const closed = once(server, 'close')
  server.close()
  await closed
})
