/** Which idle connections a drain closes, and when. */
import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { it } from 'node:test'
import type { Connection } from '../../../src/server/connection/connection.ts'
import { IdleConnections } from '../../../src/server/connection/idle-connections.ts'

const QUIET_MS = 1000

/** Node closes these unless they look busy. meltproof closes those that were never used. */
function connections(count: number, keepAliveTimeout: number, bytesRead = 10) {
  const all = Array.from({ length: count }, () => {
    const socket = { bytesRead, bytesWritten: bytesRead, _httpMessage: null, destroy: () => open.delete(connection) }
    const connection = { socket }
    return connection
  })
  const open = new Set(all)
  const closeIdleConnections = (): void => {
    for (const each of open) if (each.socket._httpMessage === null && each.socket.bytesRead > 0) open.delete(each)
  }
  return {
    all: all as unknown as Connection[],
    server: { closeIdleConnections, keepAliveTimeout, keepAliveTimeoutBuffer: 1000 } as unknown as Server,
    open: () => open.size,
  }
}

for (const timeoutMs of [500, 5000, 65_000]) {
  it(`closes a used connection after ${timeoutMs} ms plus the second that Node adds, not before`, () => {
    for (const quietMs of [50, 3000]) {
      const { all, server, open } = connections(3, timeoutMs)
      const idle = new IdleConnections(server, all, 0, QUIET_MS)
      const use = (connection: Connection): void => {
        ;(connection.socket as { bytesRead: number }).bytesRead++
      }
      const endMs = timeoutMs + 1000
      for (let nowMs = 0; nowMs < endMs; nowMs += 100) {
        if (nowMs === 400) use(all[0]!)
        idle.look(nowMs)
        const activeAtMs = nowMs - quietMs
        assert.equal(idle.due(nowMs, activeAtMs).length, 0)
        assert.equal(idle.closeSome(nowMs, activeAtMs), false)
        assert.equal(open(), 3)
      }
      idle.look(endMs)
      assert.equal(idle.due(endMs, endMs - quietMs).length > 0, true)
      assert.equal(idle.closeSome(endMs, endMs - quietMs), false)
      assert.equal(open(), 1)
    }
  })
}

it('without a keep-alive timeout, idle connections stay open until closeAll()', () => {
  const { all, server, open } = connections(3, 0)
  const idle = new IdleConnections(server, all, 0, QUIET_MS)
  assert.equal(idle.due(3_600_000, 0).length, 0)
  idle.closeAll()
  assert.equal(open(), 0)
})

it('closes connections that were never used, a few at a time, only while no requests arrive', () => {
  const { all, server, open } = connections(20, 65_000, 0)
  const idle = new IdleConnections(server, all, 0, QUIET_MS)
  idle.look(999)
  assert.equal(idle.due(999, 0).length, 0)
  assert.equal(idle.due(4999, 4950).length, 0, 'while others ask')
  assert.equal(idle.due(1000, 0).length > 0, true)
  const left: number[] = []
  do left.push(open())
  while (idle.closeSome(1000, 0))
  assert.deepEqual([...left, open()], [20, 12, 4, 0])
  assert.equal(idle.due(2000, 0).length, 0)
})

it('closes connections past their keep-alive timeout a few at a time, even while requests arrive', () => {
  const { all, server, open } = connections(20, 5000)
  const idle = new IdleConnections(server, all, 0, QUIET_MS)
  const left: number[] = []
  do left.push(open())
  while (idle.closeSome(6000, 5950))
  assert.deepEqual([...left, open()], [20, 12, 4, 0])
})
