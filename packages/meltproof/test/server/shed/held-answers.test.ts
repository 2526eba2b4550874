/** Responses that are delayed while there is no time for sheds. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, it } from 'node:test'
import { type DoorOptions, eventually, openFullDoor } from '../harness.ts'

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`

/** A gate that sheds every further request, and has time for sheds when the test says so. */
async function openBusyDoor(options: DoorOptions = {}) {
  const time = { has: false, spent: () => {}, spentAll: () => {}, interrupted: () => {}, hasTime: () => time.has }
  const house = await openFullDoor({ ...options, policy: { ...options.policy, shedBudget: time } })
  return { ...house, time }
}

describe('a delayed 503', () => {
  it('is sent once there is time, in the order of the requests', async () => {
    const { door, connect, time } = await openBusyDoor()
    const first = (await connect()).get('/first')
    await eventually('it is shed', () => door.stats().shed.full === 1)
    const second = (await connect()).get('/second')
    await eventually('both are shed', () => door.stats().shed.full === 2)
    assert.equal(first.received + second.received, '')
    time.has = true
    assert.equal((await first.answer()).status, 503)
    assert.equal((await second.answer()).status, 503)
  })

  it('is sent before an upgrade behind it, as are the responses between', async () => {
    const { server, door, connect, holding } = await openBusyDoor({ tuning: { maxQueued: 4 } })
    server.on('upgrade', (_, socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    })
    const client = (await connect()).get('/1').get('/2').get('/3')
    await eventually('it waits', () => door.stats().queued >= 2)
    client.get('/chat', 'Connection: Upgrade', 'Upgrade: x')
    for (const status of [503, 503, 503, 101]) assert.equal((await client.answer()).status, status)
    assert.deepEqual(holding.started, ['/in-service'])
  })

  it('outlasts a shorter idle timeout', async () => {
    const { door, connect, time } = await openBusyDoor({ server: { keepAliveTimeout: 10 } })
    const client = (await connect()).get('/')
    await eventually('it is shed', () => door.stats().shed.full === 1)
    const from = Date.now()
    await eventually('longer than the timeout has passed', () => Date.now() - from > 1_300)
    time.has = true
    assert.equal((await client.answer()).status, 503)
  })

  it('keeps pipelined requests behind it in order', async () => {
    const house = await openBusyDoor()
    const client = (await house.connect()).send(get('/a') + get('/b') + get('/c'))
    await eventually('the first is shed', () => house.door.stats().shed.full === 1)
    await house.make()
    house.time.has = true
    assert.equal((await client.answer()).status, 503)
    for (const path of ['/b', '/c']) {
      const { response } = await house.holding.take(path)
      response.end(path)
      assert.equal((await client.answer()).body, path)
    }
    await eventually('nothing is left', () => house.door.stats().queued === 0 && house.door.stats().inflight === 0)
  })

  it('starts the requests behind it outside the async context of the request that made room', async () => {
    const storage = new AsyncLocalStorage<string>()
    const house = await openBusyDoor()
    const client = (await house.connect()).send(get('/a') + get('/b'))
    await eventually('the first is shed', () => house.door.stats().shed.full === 1)
    const seen = Promise.withResolvers<string | undefined>()
    house.server.on('request', ({ url }) => {
      if (url === '/b') seen.resolve(storage.getStore())
    })
    await house.make()
    storage.run('another request', () => house.door.shedding.held.end())
    assert.equal(await seen.promise, undefined)
    ;(await house.holding.take('/b')).response.end('b')
    assert.equal((await client.answer()).status, 503)
    assert.equal((await client.answer()).body, 'b')
  })

  it('is sent at once to a client that sends Connection: close', async () => {
    const { connect } = await openBusyDoor()
    const client = (await connect()).send('GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n')
    assert.equal((await client.answer()).status, 503)
  })

  it('is dropped when its client disconnects', async () => {
    const { door, connect, time } = await openBusyDoor()
    const gone = (await connect()).get('/')
    await eventually('it is shed', () => door.stats().shed.full === 1)
    gone.destroy()
    await eventually('its connection is closed', () => [...door.connections.open].length === 2)
    time.has = true
    const next = (await connect()).get('/')
    assert.equal((await next.answer()).status, 503)
  })

  it('is sent when meltproof steps aside', async () => {
    const { door, connect } = await openBusyDoor()
    const client = (await connect()).get('/')
    await eventually('it is shed', () => door.stats().shed.full === 1)
    door.gate.failOpen.open()
    assert.equal((await client.answer()).status, 503)
  })

  it('survives closeIdleConnections()', async () => {
    const { door, server, connect, time } = await openBusyDoor()
    const client = (await connect()).get('/')
    await eventually('it is shed', () => door.stats().shed.full === 1)
    server.closeIdleConnections()
    time.has = true
    assert.equal((await client.answer()).status, 503)
  })
})
