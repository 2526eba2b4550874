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
  const queues = new ConnectionQueues<Named>({ keepAliveTimeout: 0 } as Server, (of, request) => {
    asked.push(request.name)
    if (!starting.includes(request.name)) queues.wait(of, request)
  })
  return { queues, connection, socket, asked }
}

describe('a connection queue', () => {
  it('starts the next requests after a turn of the loop, up to one that has to wait', async () => {
    const { queues, connection, asked } = open('b', 'c')
    queues.wait(connection, named('a'))
    for (const name of ['b', 'c', 'd', 'e']) queues.waitBehind(connection, named(name))
    queues.next(connection)
    assert.deepEqual(asked, [])
    await turn()
    assert.deepEqual(asked, ['b', 'c', 'd'])
    assert.equal(connection.waiting?.name, 'd')
    assert.ok(connection.waiting.arrivedAt > 0)
    assert.deepEqual([...queues.connections], [connection])
    queues.next(connection)
    await turn()
    queues.next(connection)
    assert.deepEqual(asked, ['b', 'c', 'd', 'e'])
    assert.equal(queues.connections.size, 0)
  })

  it('does not move while a delayed 503 is pending', async () => {
    const { queues, connection, asked } = open('b')
    connection.delayedAnswer = { preflight: false, page: false, head: false, keepAlive: true }
    assert.equal(connection.hasQueue, true)
    queues.waitBehind(connection, named('b'))
    queues.next(connection)
    await turn()
    assert.deepEqual(asked, [])
    connection.delayedAnswer = undefined
    queues.next(connection)
    await turn()
    assert.deepEqual(asked, ['b'])
    assert.equal(connection.hasQueue, false)
  })

  it('is dropped from the list of queues once all its requests have started', async () => {
    const { queues, connection, asked } = open('b', 'c')
    queues.wait(connection, named('a'))
    for (const name of ['b', 'c']) queues.waitBehind(connection, named(name))
    queues.next(connection)
    assert.deepEqual([...queues.connections], [connection])
    await turn()
    assert.deepEqual(asked, ['b', 'c'])
    assert.deepEqual([...queues.connections], [])
  })

  for (const [how, leave] of [
    ['has moved', 'next'],
    ['is taken', 'takeAll'],
  ] as const) {
    it(`makes its socket look busy until it ${how}`, () => {
      const { queues, connection } = open()
      assert.equal(connection.socket._httpMessage ?? null, null)
      queues.wait(connection, named('a'))
      assert.notEqual(connection.socket._httpMessage ?? null, null)
      queues[leave](connection)
      assert.equal(connection.socket._httpMessage, null)
    })
  }

  it('pauses its socket at sixteen requests behind the first, until it moves on', async () => {
    const { queues, connection, socket } = open(...Array.from({ length: 16 }, (_, i) => `${i}`))
    queues.wait(connection, named('first'))
    for (let i = 0; i < 15; i++) queues.waitBehind(connection, named(`${i}`))
    assert.equal(socket._paused, false)
    queues.waitBehind(connection, named('15'))
    assert.equal(socket._paused, true)
    queues.next(connection)
    await turn()
    assert.equal(socket._paused, false)
  })

  it('gives up all its requests in order with takeAll(), and is empty afterwards', () => {
    const { queues, connection } = open()
    queues.wait(connection, named('a'))
    queues.waitBehind(connection, named('b'))
    assert.deepEqual(
      queues.takeAll(connection).map(({ name }) => name),
      ['a', 'b'],
    )
    assert.equal(connection.hasQueue, false)
    assert.equal(queues.connections.size, 0)
  })

  it('starts no request once its connection is closing', async () => {
    const { queues, connection, asked } = open()
    queues.wait(connection, named('a'))
    queues.waitBehind(connection, named('b'))
    connection.closing = true
    queues.next(connection)
    await turn()
    assert.deepEqual(asked, [])
    assert.equal(connection.hasQueue, false)
  })

  it('starts no request once its client has disconnected, and gives them out with takeAll()', async () => {
    const { queues, connection, asked } = open()
    const behind = named('b')
    queues.wait(connection, named('a'))
    queues.waitBehind(connection, behind)
    Object.assign(connection.socket, { destroyed: true })
    queues.next(connection)
    await turn()
    assert.deepEqual(asked, [])
    assert.deepEqual(queues.takeAll(connection), [behind])
    assert.equal(queues.connections.size, 0)
  })
})
