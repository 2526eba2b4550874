/** Which connection a request goes on: that depends on how soon the one before was answered. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { against, constant, httpServer, rawServer, waitingServer } from '../load/servers.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const FRESH = { kind: 'fresh' } as const

describe('runLoad: connections', () => {
  it('rotates over the whole standing set', async () => {
    let connections = 0
    const used = new Map<number, number>()
    const server = await rawServer(socket => {
      const id = connections++
      socket.on('data', () => {
        used.set(id, (used.get(id) ?? 0) + 1)
        socket.write(OK)
      })
    })
    const outcome = await against(server, {
      connections: { kind: 'keep-alive', count: 50, max: 50 },
      arrival: constant(400, 500),
    })
    assert.deepEqual(outcome.answered, { 200: 200 })
    assert.equal(connections, 50)
    assert.deepEqual([...used.values()], Array(50).fill(4))
  })

  it('opens a standing set of 1,500 gently', async () => {
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

  it('opens more when all are busy, up to the cap; then requests wait, which is told', async () => {
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

  it('gives a free connection to whoever came last where newestFirst says so', async () => {
    const goodOf = async (newestFirst: boolean): Promise<number> => {
      const server = await httpServer((_, res) => void setTimeout(() => res.end('ok'), 50))
      const connections = { kind: 'keep-alive', count: 4, max: 4 } as const
      const { good } = await against(server, {
        connections: newestFirst ? { ...connections, newestFirst } : connections,
        arrival: constant(1000, 1000),
        timeoutMs: 800,
        sloMs: 200,
      })
      return good
    }
    const [inTurn, newest] = [await goodOf(false), await goodOf(true)]
    assert.ok(newest > 2 * inTurn, `${newest} and ${inTurn}`)
  })

  it('counts as unsent what found no free connection within the timeout', async () => {
    const server = await rawServer(() => {})
    const outcome = await against(server, {
      connections: { kind: 'keep-alive', count: 4, max: 4 },
      arrival: constant(3000, 300),
      timeoutMs: 200,
    })
    assert.ok(outcome.unsent > 300, `${outcome.unsent} unsent`)
    assert.match(outcome.why.join(' '), /found none of 4 connections free within 200 ms and never left/)
  })

  it('uses a new connection for every fresh request and lets the server close it', async () => {
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
        // All of them, long before the next request: one that crosses the close would be lost on any client.
        setTimeout(() => {
          for (const each of sockets) each.end()
          sockets.clear()
        }, 100)
      })
    })
    const outcome = await against(server, {
      connections: { kind: 'keep-alive', count: 5, max: 50 },
      arrival: constant(2, 3000),
    })
    assert.deepEqual(outcome.answered, { 200: 6 })
    // Were only those opened that requests asked for, it would be 11.
    assert.ok(connections > 12, `${connections} connections`)
  })

  it('does not trust a connection on which bytes came unasked', async () => {
    const server = await rawServer(socket =>
      socket.on('data', () => socket.write(`${OK}HTTP/1.1 408 Request Timeout\r\n\r\n`)),
    )
    const outcome = await against(server, { arrival: constant(100, 300) })
    assert.deepEqual(outcome.answered, { 200: 30 })
  })
})
