/** Responses that are delayed while there is no time for sheds. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, it } from 'node:test'
import { type GatedOptions, eventually, startFull } from '../harness.ts'

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`

/** A gate that sheds every further request, and has time for sheds when the test says so. */
async function startBusy(options: GatedOptions = {}) {
  const time = { has: false, spent: () => {}, spentAll: () => {}, interrupted: () => {}, hasTime: () => time.has }
  const service = await startFull({ ...options, policy: { ...options.policy, shedBudget: time } })
  return { ...service, time }
}

describe('a delayed 503', () => {
  it('is sent once there is time, in the order of the requests', async () => {
    const { requestPath, connect, time } = await startBusy()
    const first = (await connect()).get('/first')
    await eventually('it is shed', () => requestPath.stats().shed.full === 1)
    const second = (await connect()).get('/second')
    await eventually('both are shed', () => requestPath.stats().shed.full === 2)
    assert.equal(first.received + second.received, '')
    time.has = true
    assert.equal((await first.answer()).status, 503)
    assert.equal((await second.answer()).status, 503)
  })

  it('is sent before an upgrade behind it, as are the responses between', async () => {
    const { server, requestPath, connect, holding } = await startBusy({ tuning: { maxQueued: 4 } })
    server.on('upgrade', (_, socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    })
    const client = (await connect()).get('/1').get('/2').get('/3')
    await eventually('it waits', () => requestPath.stats().queued >= 2)
    client.get('/chat', 'Connection: Upgrade', 'Upgrade: x')
    for (const status of [503, 503, 503, 101]) assert.equal((await client.answer()).status, status)
    assert.deepEqual(holding.started, ['/in-service'])
  })

  it('outlasts a shorter idle timeout', async () => {
    const { requestPath, connect, time } = await startBusy({ server: { keepAliveTimeout: 10 } })
    const client = (await connect()).get('/')
    await eventually('it is shed', () => requestPath.stats().shed.full === 1)
    const from = Date.now()
    await eventually('longer than the timeout has passed', () => Date.now() - from > 1_300)
    time.has = true
    assert.equal((await client.answer()).status, 503)
  })

  it('keeps pipelined requests behind it in order', async () => {
    const service = await startBusy()
    const client = (await service.connect()).send(get('/a') + get('/b') + get('/c'))
    await eventually('the first is shed', () => service.requestPath.stats().shed.full === 1)
    await service.freePermits()
    service.time.has = true
    assert.equal((await client.answer()).status, 503)
    for (const path of ['/b', '/c']) {
      const { response } = await service.holding.take(path)
      response.end(path)
      assert.equal((await client.answer()).body, path)
    }
    await eventually(
      'nothing is left',
      () => service.requestPath.stats().queued === 0 && service.requestPath.stats().inflight === 0,
    )
  })

  it('starts the requests behind it outside the async context of the request that made room', async () => {
    const storage = new AsyncLocalStorage<string>()
    const service = await startBusy()
    const client = (await service.connect()).send(get('/a') + get('/b'))
    await eventually('the first is shed', () => service.requestPath.stats().shed.full === 1)
    const seen = Promise.withResolvers<string | undefined>()
    service.server.on('request', ({ url }) => {
      if (url === '/b') seen.resolve(storage.getStore())
    })
    await service.freePermits()
    storage.run('another request', () => service.requestPath.shedding.held.end())
    assert.equal(await seen.promise, undefined)
    ;(await service.holding.take('/b')).response.end('b')
    assert.equal((await client.answer()).status, 503)
    assert.equal((await client.answer()).body, 'b')
  })

  it('is sent at once to a client that sends Connection: close', async () => {
    const { connect } = await startBusy()
    const client = (await connect()).send('GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n')
    assert.equal((await client.answer()).status, 503)
  })

  it('is dropped when its client disconnects', async () => {
    const { requestPath, connect, time } = await startBusy()
    const gone = (await connect()).get('/')
    await eventually('it is shed', () => requestPath.stats().shed.full === 1)
    gone.destroy()
    await eventually('its connection is closed', () => [...requestPath.connections.open].length === 2)
    time.has = true
    const next = (await connect()).get('/')
    assert.equal((await next.answer()).status, 503)
  })

  it('is sent when meltproof steps aside', async () => {
    const { requestPath, connect } = await startBusy()
    const client = (await connect()).get('/')
    await eventually('it is shed', () => requestPath.stats().shed.full === 1)
    requestPath.processGate.failOpen.open()
    assert.equal((await client.answer()).status, 503)
  })

  it('survives closeIdleConnections()', async () => {
    const { requestPath, server, connect, time } = await startBusy()
    const client = (await connect()).get('/')
    await eventually('it is shed', () => requestPath.stats().shed.full === 1)
    server.closeIdleConnections()
    time.has = true
    assert.equal((await client.answer()).status, 503)
  })
})
