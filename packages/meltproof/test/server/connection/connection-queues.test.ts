/** The order of pipelined requests, on connections without real sockets. */
import assert from 'node:assert/strict'
import type { IncomingMessage, Server } from 'node:http'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Connection, type ConnectionRequest } from '../../../src/server/connection/connection.ts'
import type { HttpSocket } from '../../../src/server/connection/http-socket.ts'
import { ConnectionQueues } from '../../../src/server/connection/connection-queues.ts'

interface Named extends ConnectionRequest {
  readonly name: string
}

function named(name: string): Named {
  return { name, request: {} as IncomingMessage, response: undefined, keepAlive: true, arrivedAt: 0 }
}

/** A queue whose requests wait when their turn arrives, except those in `starting`. */
function open(...starting: string[]) {
  const socket = { parser: { onIncoming: () => 0, resume() {} }, _paused: false, pause() {}, resume() {} }
  const connection = Connection.attach<Named>(socket as unknown as HttpSocket, {
    onHead: () => 0,
    refuse: () => false,
  })!
  const asked: string[] = []
  const lines = new ConnectionQueues<Named>({ keepAliveTimeout: 0 } as Server, (of, request) => {
    asked.push(request.name)
    if (!starting.includes(request.name)) lines.wait(of, request)
  })
  return { lines, connection, socket, asked }
}

describe('a connection queue', () => {
  it('starts the next requests after a turn of the loop, up to one that has to wait', async () => {
    const { lines, connection, asked } = open('b', 'c')
    lines.wait(connection, named('a'))
    for (const name of ['b', 'c', 'd', 'e']) lines.join(connection, named(name))
    lines.move(connection)
    assert.deepEqual(asked, [])
    await turn()
    assert.deepEqual(asked, ['b', 'c', 'd'])
    assert.equal(connection.waiting?.name, 'd')
    assert.ok(connection.waiting.arrivedAt > 0)
    assert.deepEqual([...lines.connections], [connection])
    lines.move(connection)
    await turn()
    lines.move(connection)
    assert.deepEqual(asked, ['b', 'c', 'd', 'e'])
    assert.equal(lines.connections.size, 0)
  })

  it('does not move while a delayed 503 is pending', async () => {
    const { lines, connection, asked } = open('b')
    connection.owed = { preflight: false, page: false, head: false, keepAlive: true }
    assert.equal(connection.hasQueue, true)
    lines.join(connection, named('b'))
    lines.move(connection)
    await turn()
    assert.deepEqual(asked, [])
    connection.owed = undefined
    lines.move(connection)
    await turn()
    assert.deepEqual(asked, ['b'])
    assert.equal(connection.hasQueue, false)
  })

  it('is dropped from the list of queues once all its requests have started', async () => {
    const { lines, connection, asked } = open('b', 'c')
    lines.wait(connection, named('a'))
    for (const name of ['b', 'c']) lines.join(connection, named(name))
    lines.move(connection)
    assert.deepEqual([...lines.connections], [connection])
    await turn()
    assert.deepEqual(asked, ['b', 'c'])
    assert.deepEqual([...lines.connections], [])
  })

  for (const [how, leave] of [
    ['has moved', 'move'],
    ['is taken', 'takeAll'],
  ] as const) {
    it(`makes its socket look busy until it ${how}`, () => {
      const { lines, connection } = open()
      assert.equal(connection.socket._httpMessage ?? null, null)
      lines.wait(connection, named('a'))
      assert.notEqual(connection.socket._httpMessage ?? null, null)
      lines[leave](connection)
      assert.equal(connection.socket._httpMessage, null)
    })
  }

  it('pauses its socket at sixteen requests behind the first, until it moves on', async () => {
    const { lines, connection, socket } = open(...Array.from({ length: 16 }, (_, i) => `${i}`))
    lines.wait(connection, named('first'))
    for (let i = 0; i < 15; i++) lines.join(connection, named(`${i}`))
    assert.equal(socket._paused, false)
    lines.join(connection, named('15'))
    assert.equal(socket._paused, true)
    lines.move(connection)
    await turn()
    assert.equal(socket._paused, false)
  })

  it('gives up all its requests in order with takeAll(), and is empty afterwards', () => {
    const { lines, connection } = open()
    lines.wait(connection, named('a'))
    lines.join(connection, named('b'))
    assert.deepEqual(
      lines.takeAll(connection).map(({ name }) => name),
      ['a', 'b'],
    )
    assert.equal(connection.hasQueue, false)
    assert.equal(lines.connections.size, 0)
  })

  it('starts no request once its connection is closing', async () => {
    const { lines, connection, asked } = open()
    lines.wait(connection, named('a'))
    lines.join(connection, named('b'))
    connection.closing = true
    lines.move(connection)
    await turn()
    assert.deepEqual(asked, [])
    assert.equal(connection.hasQueue, false)
  })

  it('starts no request once its client has disconnected, and gives them out with takeAll()', async () => {
    const { lines, connection, asked } = open()
    const behind = named('b')
    lines.wait(connection, named('a'))
    lines.join(connection, behind)
    Object.assign(connection.socket, { destroyed: true })
    lines.move(connection)
    await turn()
    assert.deepEqual(asked, [])
    assert.deepEqual(lines.takeAll(connection), [behind])
    assert.equal(lines.connections.size, 0)
  })
})
