/** Which idle connections a drain closes, and when. */
import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { it } from 'node:test'
import type { Connection } from '../../../src/server/connection/connection.ts'
import { IdleConnections } from '../../../src/server/connection/idle-connections.ts'

const QUIET_MS = 1000

/** Used once, and closed by Node unless it looks busy. */
function connections(count: number): { readonly all: Connection[]; readonly server: Server; open(): number } {
  const all = Array.from({ length: count }, () => ({ socket: { bytesRead: 10, bytesWritten: 10, _httpMessage: null } }))
  const open = new Set(all)
  const closeIdleConnections = (): void => {
    for (const each of open) if (each.socket._httpMessage === null) open.delete(each)
  }
  return {
    all: all as unknown as Connection[],
    server: { closeIdleConnections } as unknown as Server,
    open: () => open.size,
  }
}

it('while others ask, one is kept for as long as its client may use it', () => {
  const { all, server, open } = connections(3)
  const idle = new IdleConnections(server, all, 0, QUIET_MS)
  const use = (connection: Connection): void => {
    ;(connection.socket as { bytesRead: number }).bytesRead++
  }
  for (let nowMs = 0; nowMs < 4900; nowMs += 100) {
    if (nowMs === 3000) use(all[0]!)
    idle.look(nowMs)
    const activeAtMs = nowMs - 50
    assert.equal(idle.hasSome(nowMs, activeAtMs), false)
    assert.equal(idle.closeSome(nowMs, activeAtMs), false)
    assert.equal(open(), 3)
  }
  idle.look(5000)
  assert.equal(idle.hasSome(5000, 4950), true)
  assert.equal(idle.closeSome(5000, 4950), false)
  assert.equal(open(), 1)
})

it('when nobody asks for anything, all are closed, a few at a time', () => {
  const { all, server, open } = connections(20)
  const idle = new IdleConnections(server, all, 0, QUIET_MS)
  idle.look(999)
  assert.equal(idle.hasSome(999, 0), false)
  assert.equal(idle.hasSome(1000, 0), true)
  const left: number[] = []
  do left.push(open())
  while (idle.closeSome(1000, 0))
  assert.deepEqual([...left, open()], [20, 12, 4, 0])
  assert.equal(idle.hasSome(2000, 0), false)
})
