/** Pipelined requests are answered in their order, whatever the gate does with each. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { eventually, Holding, startFullForClient, startGated } from '../harness.ts'

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`

describe('pipelined requests', () => {
  it('behind one in service are answered after it, even if they are shed', async () => {
    const { service, client, a } = await startFullForClient()
    client.send(get('/b') + get('/c'))
    await eventually('both are shed', () => service.requestPath.stats().shed.full === 2)
    assert.equal(client.received, '')
    a.response.end('a')
    assert.equal((await client.answer()).body, 'a')
    assert.equal((await client.answer()).status, 503)
    assert.equal((await client.answer()).status, 503)
  })

  it('behind a waiting one are answered after it', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler)
    ;(await service.connect()).get('/first')
    const first = await holding.take('/first')
    const client = (await service.connect()).send(get('/a') + get('/b') + get('/c'))
    await eventually('a waits', () => service.requestPath.stats().queued === 1)
    first.response.end()
    for (const path of ['/a', '/b', '/c']) {
      const { response } = await holding.take(path)
      response.end(path)
      assert.equal((await client.answer()).body, path)
    }
    await eventually(
      'all are done',
      () => service.requestPath.stats().inflight === 0 && service.requestPath.stats().queued === 0,
    )
  })

  it('after a request that was shed, the next pipelined one is shed if the server is full and served if it is not', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler, { tuning: { maxWaitMs: 50 } })
    ;(await service.connect()).get('/first')
    const first = await holding.take('/first')
    const client = (await service.connect()).send(get('/a') + get('/b'))
    assert.equal((await client.answer()).status, 503)
    assert.equal((await client.answer()).status, 503)
    first.response.end()
    await eventually('nothing is in service', () => service.requestPath.stats().inflight === 0)
    client.get('/c')
    ;(await holding.take('/c')).response.end('c')
    assert.equal((await client.answer()).body, 'c')
    assert.deepEqual(holding.started, ['/first', '/c'])
  })

  it('behind a shed that closes the connection are never handled', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler, { tuning: { maxWaitMs: 50 } })
    ;(await service.connect()).get('/first')
    await holding.take('/first')
    const chunked = 'POST /a HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi'
    const client = (await service.connect()).send(chunked + get('/b'))
    const answer = await client.answer('POST')
    assert.equal(answer.headers['connection'], 'close')
    assert.equal(await client.rest(), '')
    assert.deepEqual(holding.started, ['/first'])
  })

  it('are answered in order, also when more arrive in between', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler)
    ;(await service.connect()).get('/first')
    const first = await holding.take('/first')
    const client = await service.connect()
    const paths = Array.from({ length: 60 }, (_, i) => `/${i}`)
    client.send(paths.slice(0, 20).map(get).join(''))
    await eventually('one waits', () => service.requestPath.stats().queued === 1)
    first.response.end()
    client.send(paths.slice(20, 40).map(get).join(''))
    for (const [i, path] of paths.entries()) {
      const { response } = await holding.take(path)
      if (i === 10) client.send(paths.slice(40).map(get).join(''))
      response.end(path)
      assert.equal((await client.answer()).body, path)
    }
  })

  it('are answered before a later upgrade without a listener', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler, { limit: 2 })
    ;(await service.connect()).get('/1')
    ;(await service.connect()).get('/2')
    const first = await holding.take()
    await holding.take()
    const upgrade = 'GET /upgrade HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'
    const client = (await service.connect()).send(get('/a') + upgrade)
    // /a must be answered first, served or shed. Then the upgrade waits for a permit like any request.
    assert.equal((await client.answer()).status, 503)
    first.response.end()
    ;(await holding.take('/upgrade')).response.end('plain')
    assert.equal((await client.answer()).body, 'plain')
  })

  it('are all answered on 200 connections whose queues move in the same instant', async () => {
    const failures: unknown[] = []
    const holding = new Holding()
    const service = await startGated(holding.handler, {
      tuning: { maxWaitMs: 400, maxQueued: 100_000 },
      onFailure: error => failures.push(error),
    })
    ;(await service.connect()).get('/first')
    await holding.take('/first')
    const clients = await Promise.all(Array.from({ length: 200 }, () => service.connect()))
    for (const client of clients) client.send(get('/a') + get('/b') + get('/c'))
    for (const client of clients) for (let i = 0; i < 3; i++) assert.equal((await client.answer()).status, 503)
    assert.deepEqual(failures, [])
    for (const client of clients) client.destroy()
  })
})

describe('a client that does not read', () => {
  it('is not read from any more, so that under a fifth of its requests are handled', async () => {
    const service = await startGated((_, response) => response.end('x'.repeat(100_000)), { limit: 1 })
    const client = await service.connect()
    client.socket.pause()
    let sent = 0
    const more = (): void => {
      if (sent++ < 2000) client.socket.write(get('/').repeat(50), more)
    }
    more()
    await new Promise(resolve => setTimeout(resolve, 700))
    const admitted = service.requestPath.stats().admitted
    assert.ok(admitted < 20_000, `${admitted} requests handled for a client that reads nothing`)
    client.destroy()
    await eventually(
      'nothing is held',
      () => service.requestPath.stats().inflight === 0 && service.requestPath.stats().queued === 0,
    )
  })
})
