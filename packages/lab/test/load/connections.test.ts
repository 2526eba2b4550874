/** The connection that a request uses. If the choice depends on earlier answers, a user or the test waits for them. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import type { LoadProgress } from '../../src/load/plan.ts'
import { runLoad } from '../../src/load/run.ts'
import { against, constant, httpServer, planFor, PATIENT, rawServer, waitingServer } from './servers.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const FRESH = { kind: 'fresh' } as const

describe('runLoad: connections', () => {
  it('uses all standing connections in rotation', async () => {
    let connections = 0
    const used = new Map<number, number>()
    const server = await rawServer(socket => {
      const id = connections++
      socket.on('data', () => {
        used.set(id, (used.get(id) ?? 0) + 1)
        socket.write(OK)
      })
    })
    await against(server, {
      connections: { kind: 'keep-alive', count: 50, max: 50 },
      arrival: { kind: 'closed', users: 1, durationMs: 1000, thinkMs: 0 },
    })
    assert.equal(connections, 50)
    const times = [...used.values()]
    assert.equal(times.length, 50)
    assert.ok(Math.max(...times) - Math.min(...times) <= 1, `${times}`)
  })

  it('opens 1,500 standing connections without a failure', async () => {
    let connections = 0
    const server = await rawServer(socket => {
      connections++
      socket.on('data', () => socket.write(OK))
    })
    const outcome = await against(server, {
      connections: { kind: 'keep-alive', count: 1500, max: 1500 },
      arrival: constant(100, 200),
    })
    assert.equal(connections, 1500)
    assert.deepEqual(outcome.failed, {})
  })

  it('opens more connections when all are busy, up to the limit, and reports that requests waited', async () => {
    const server = await waitingServer(100)
    const outcome = await against(server, {
      connections: { kind: 'keep-alive', count: 2, max: 8 },
      arrival: constant(200, 500),
    })
    assert.equal(server.mostAtOnce(), 8)
    assert.deepEqual(outcome.answered, { 200: 100 })
    assert.equal(outcome.certified, false)
    assert.match(outcome.why.join(' '), /requests waited for one of 8 connections/)
  })

  for (const [newestFirst, order] of [
    [false, 'has waited longest'],
    [true, 'came last, with newestFirst'],
  ] as const) {
    it(`gives a free connection to the request that ${order}`, async () => {
      const came: number[] = []
      const held = Promise.withResolvers<void>()
      const server = await httpServer(async (req, res) => {
        came.push(Number(req.url!.slice(1)))
        await held.promise
        res.end()
      })
      const plan = planFor(`${server.url}{{seq}}`, {
        ...PATIENT,
        templated: true,
        connections: { kind: 'keep-alive', count: 1, max: 1, ...(newestFirst && { newestFirst }) },
        arrival: constant(40, 500),
      })
      const onProgress = ({ scheduled }: LoadProgress): void => {
        if (scheduled === 20) held.resolve()
      }
      await runLoad(plan, { onProgress })
      await server.close()
      const waited = Array.from({ length: 19 }, (_, i) => i + 1)
      assert.deepEqual(came, [0, ...(newestFirst ? waited.reverse() : waited)])
    })
  }

  it('counts requests as unsent if no connection was free within the timeout', async () => {
    const server = await rawServer(() => {})
    const outcome = await against(server, {
      connections: { kind: 'keep-alive', count: 4, max: 4 },
      arrival: constant(3000, 300),
      timeoutMs: 200,
    })
    assert.ok(outcome.unsent > 300, `${outcome.unsent} unsent`)
    assert.match(outcome.why.join(' '), /found none of 4 connections free within 200 ms and never went out/)
  })

  it('uses a new connection for each request in fresh mode, and lets the server close it', async () => {
    let connections = 0
    let closedFirst = 0
    const server = await rawServer(socket => {
      connections++
      let ended = false
      socket.on('end', () => {
        if (!ended) closedFirst++
      })
      socket.on('data', data => {
        assert.match(data.toString(), /\r\nConnection: close\r\n/)
        setTimeout(() => {
          ended = true
          socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok')
        }, 5)
      })
    })
    const outcome = await against(server, { connections: FRESH })
    assert.deepEqual(outcome.answered, { 200: 100 })
    assert.equal(connections, 100)
    assert.equal(closedFirst, 0)
  })

  it('replaces connections that the server closed while idle', async () => {
    let connections = 0
    const sockets = new Set<Socket>()
    const server = await rawServer(socket => {
      connections++
      sockets.add(socket)
      socket.on('data', () => {
        socket.write(OK)
        // Closes all connections while the only user thinks. A request sent just before the close would be lost.
        for (const each of sockets) each.end()
        sockets.clear()
      })
    })
    const outcome = await against(server, {
      connections: { kind: 'keep-alive', count: 5, max: 50 },
      arrival: { kind: 'closed', users: 1, durationMs: 3000, thinkMs: 500 },
    })
    assert.deepEqual(outcome.failed, {})
    const asked = outcome.answered['200']!
    assert.ok(asked >= 2, `${asked} requests`)
    // If only requests replaced connections, there would be the first 5, and one for each request.
    assert.ok(connections > 5 + asked + 1, `${connections} connections, ${asked} requests`)
  })

  it('does not reuse a connection on which unexpected bytes arrived', async () => {
    const server = await rawServer(socket =>
      socket.on('data', () => socket.write(`${OK}HTTP/1.1 408 Request Timeout\r\n\r\n`)),
    )
    const outcome = await against(server, { arrival: constant(100, 300) })
    assert.deepEqual(outcome.answered, { 200: 30 })
  })
})
