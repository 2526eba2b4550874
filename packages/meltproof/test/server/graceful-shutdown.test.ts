/** Libraries that shut a server down close what looks idle to them: a request that waits at the gate must look busy. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { protect } from '../../src/server/protect.ts'
import { connect, eventually, Holding } from './harness.ts'
import { CERTIFICATE } from './tls.fixture.ts'

const require = createRequire(import.meta.url)

/** Makes the library stand at the server; returns what shuts it down. */
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
      onShutdown: () => new Promise(() => undefined), // It would end this process.
    })
    return () => process.emit('SIGHUP')
  },
  'http-graceful-shutdown': server =>
    require('http-graceful-shutdown')(server, { forceExit: false, signals: 'SIGWINCH' }),
  'http-terminator': server =>
    require('http-terminator').createHttpTerminator({ server, gracefulTerminationTimeout: 10_000 }).terminate,
}

/** The others say `Connection: close` in the first of two answers. */
const PIPELINES = new Set(['node:http', 'stoppable', '@godaddy/terminus'])

for (const [name, library] of Object.entries(LIBRARIES)) {
  for (const secure of [false, true]) {
    // It cuts every connection of https, also where nothing of ours is.
    if (secure && name === 'http-graceful-shutdown') continue
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
