/**
 * Waiting requests: served when a permit is free, as if they had just arrived, and dropped when their client
 * disconnects.
 */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { protect } from '../../src/index.ts'
import { block } from '../block.ts'
import { eventually, Holding, startGated } from './harness.ts'

/** One request in service, so that the next one waits. */
async function occupied(options: Parameters<typeof startGated>[1] = {}) {
  const holding = new Holding()
  const service = await startGated(holding.handler, options)
  const first = (await service.connect()).get('/first')
  const inService = await holding.take('/first')
  return { ...service, holding, first, inService }
}

describe('a request that waits', () => {
  it('is served when a permit is free', async () => {
    const service = await occupied()
    const client = (await service.connect()).get('/waits')
    await eventually('it waits', () => service.requestPath.stats().queued === 1)
    assert.deepEqual(service.holding.started, ['/first'])
    service.inService.response.end()
    ;(await service.holding.take('/waits')).response.end('served')
    assert.equal((await client.answer()).body, 'served')
    await eventually(
      'all is over',
      () => service.requestPath.stats().inflight === 0 && service.requestPath.stats().queued === 0,
    )
  })

  it('is the last of its connection if its client has ended its side, with httpAllowHalfOpen', async () => {
    const service = await occupied()
    Object.assign(service.server, { httpAllowHalfOpen: true, keepAliveTimeout: 0 })
    const accepted = once(service.server, 'connection') as Promise<[Socket]>
    const client = (await service.connect()).get('/waits')
    client.socket.end()
    const [socket] = await accepted
    await eventually('its client has ended', () => socket.readableEnded)
    assert.equal(service.requestPath.stats().queued, 1)
    service.inService.response.end()
    ;(await service.holding.take('/waits')).response.end('served')
    assert.equal((await client.answer()).body, 'served')
    await client.closed
  })

  it('is not ended by server.timeout, which applies again once its handler runs', async () => {
    const service = await occupied()
    service.server.timeout = 60
    const client = (await service.connect()).get('/waits')
    await eventually('it waits', () => service.requestPath.stats().queued === 1)
    await sleep(150)
    service.inService.response.end()
    const { request, response } = await service.holding.take('/waits')
    assert.equal(request.socket.timeout, 60)
    response.end('served')
    assert.equal((await client.answer()).body, 'served')
  })

  it('is not ended by the timeout of an idle connection if it was pipelined behind another', async () => {
    const service = await occupied()
    Object.assign(service.server, { keepAliveTimeout: 30, keepAliveTimeoutBuffer: 0 })
    const second = (await service.connect()).get('/second')
    await eventually('the second one waits', () => service.requestPath.stats().queued === 1)
    service.first.get('/third')
    await eventually('the third one waits', () => service.requestPath.stats().queued === 2)
    service.inService.response.end('first')
    assert.equal((await service.first.answer()).body, 'first')
    const { response } = await service.holding.take('/second')
    // Node 22 adds a second to the timeout.
    await sleep(1200)
    response.end('second')
    assert.equal((await second.answer()).body, 'second')
    ;(await service.holding.take('/third')).response.end('third')
    assert.equal((await service.first.answer()).body, 'third')
  })

  for (const [what, head, body] of [
    ['with a length', (n: number) => `Content-Length: ${n}`, (text: string) => text],
    [
      'in chunks',
      () => 'Transfer-Encoding: chunked',
      (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
    ],
  ] as const) {
    it(`receives the whole body that was sent while it waited, ${what}`, async () => {
      const service = await occupied()
      const text = 'meltproof '.repeat(50_000)
      const client = await service.connect()
      client.send(`POST /upload HTTP/1.1\r\nHost: test\r\n${head(text.length)}\r\n\r\n${body(text)}`)
      await eventually('it waits', () => service.requestPath.stats().queued === 1)
      service.inService.response.end()
      const { request, response } = await service.holding.take('/upload')
      let received = ''
      for await (const chunk of request.setEncoding('latin1')) received += chunk
      response.end(String(received.length))
      assert.equal((await client.answer()).body, String(text.length))
      assert.equal(received, text)
    })
  }

  it('does not see the async context of the request that made room for it', async () => {
    const storage = new AsyncLocalStorage<string>()
    const seen: (string | undefined)[] = []
    const holding = new Holding()
    const service = await startGated((request, response) => {
      seen.push(storage.getStore())
      storage.run(request.url!, () => {
        if (request.url === '/first') setImmediate(() => holding.handler(request, response))
        else holding.handler(request, response)
      })
    })
    const upgrade = ['Connection: Upgrade', 'Upgrade: nothing-anybody-listens-for']
    ;(await service.connect()).get('/first')
    const first = await holding.take('/first')
    const pipelining = (await service.connect()).get('/a').get('/b')
    await eventually('a waits', () => service.requestPath.stats().queued === 1)
    const late = (await service.connect()).get('/c', ...upgrade)
    await eventually('c waits', () => service.requestPath.stats().queued === 2)
    storage.run('the context of the release', () => first.response.end())
    for (let i = 0; i < 3; i++) {
      const { request, response } = await holding.take()
      storage.run('the context of the release', () => response.end(request.url))
    }
    assert.equal((await pipelining.answer()).body, '/a')
    assert.equal((await pipelining.answer()).body, '/b')
    assert.equal((await late.answer()).body, '/c')
    assert.deepEqual(seen, [undefined, undefined, undefined, undefined])
  })

  it('leaves the queue when its client disconnects', async () => {
    const service = await occupied()
    const clients = await Promise.all(Array.from({ length: 20 }, () => service.connect()))
    for (const client of clients) client.get('/leaves').get('/behind-it')
    await eventually('they wait', () => service.requestPath.stats().queued === 20)
    for (const [i, client] of clients.entries()) {
      if (i % 2 === 0) client.destroy()
      else client.socket.resetAndDestroy()
    }
    await eventually('they have left', () => service.requestPath.stats().queued === 0)
    service.inService.response.end()
    await eventually('the permit is back', () => service.requestPath.stats().inflight === 0)
    assert.deepEqual(service.holding.started, ['/first'])
  })

  it('is served although server.close() was called, which then completes', async () => {
    const service = await occupied()
    const client = (await service.connect()).get('/waits')
    await eventually('it waits', () => service.requestPath.stats().queued === 1)
    const closed = once(service.server, 'close')
    service.server.close()
    service.inService.response.end('first')
    assert.equal((await service.first.answer()).body, 'first')
    ;(await service.holding.take('/waits')).response.end('served')
    assert.equal((await client.answer()).body, 'served')
    client.destroy()
    service.first.destroy()
    await closed
  })

  it('is dropped by closeAllConnections()', async () => {
    const service = await occupied()
    const client = (await service.connect()).get('/waits')
    await eventually('it waits', () => service.requestPath.stats().queued === 1)
    service.server.closeAllConnections()
    await client.closed
    await eventually(
      'no request waits',
      () => service.requestPath.stats().queued === 0 && service.requestPath.stats().inflight === 0,
    )
  })

  it('is started when meltproof steps aside, and so are all requests behind it, in order', async () => {
    const service = await occupied()
    const client = (await service.connect()).get('/a').get('/b')
    const upgrade = (await service.connect()).get('/late', 'Connection: Upgrade', 'Upgrade: nothing')
    await eventually('two wait', () => service.requestPath.stats().queued === 2)
    service.requestPath.processGate.failOpen.open()
    assert.equal(service.requestPath.stats().queued, 0)
    assert.deepEqual(service.holding.started, ['/first', '/a', '/b', '/late'])
    for (const path of ['/a', '/b', '/late']) (await service.holding.take(path)).response.end(path)
    assert.equal((await client.answer()).body, '/a')
    assert.equal((await client.answer()).body, '/b')
    assert.equal((await upgrade.answer()).body, '/late')
    assert.equal(Object.hasOwn(service.server, 'emit'), false)
    assert.equal(Object.hasOwn(service.server, 'closeIdleConnections'), false)
  })

  it('gets no 100 Continue before it starts, if it sends Expect: 100-continue', async () => {
    const service = await occupied()
    const client = await service.connect()
    client.send('POST /expects HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n')
    await eventually('it waits', () => service.requestPath.stats().queued === 1)
    assert.equal(client.received, '')
    service.inService.response.end()
    const { request, response } = await service.holding.take('/expects')
    assert.equal((await client.answer('POST')).status, 100)
    client.send('hi')
    request.resume()
    await once(request, 'end')
    response.end('thanks')
    assert.equal((await client.answer('POST')).body, 'thanks')
  })
})

describe('server.closeAllConnections() while requests wait', () => {
  it('empties the queue, also of pipelined requests, partial bodies and upgrades', async () => {
    const service = await occupied()
    const bodied = 'POST /body HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\nhalf'
    const clients = await Promise.all(Array.from({ length: 4 }, () => service.connect()))
    clients[0]!.get('/a')
    clients[1]!.get('/a').get('/behind')
    clients[2]!.send(bodied)
    clients[3]!.get('/upgrade', 'Connection: Upgrade', 'Upgrade: x')
    await eventually('they wait', () => service.requestPath.stats().queued === 4)
    service.server.closeAllConnections()
    await eventually(
      'nothing is held',
      () => service.requestPath.stats().queued === 0 && service.requestPath.stats().inflight === 0,
    )
    assert.deepEqual(service.holding.started, ['/first'])
    ;(await service.connect()).get('/next')
    await service.holding.take('/next')
  })
})

it('sixty simultaneous requests to a cold server that needs seconds for them are all served', async () => {
  const server = http.createServer((_request, response) => {
    block(40)
    response.end()
  })
  const guard = protect(server, { lanes: 1 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const ask = async (): Promise<number | undefined> => {
    const [response] = (await once(http.get({ host: '127.0.0.1', port, agent: false }), 'response')) as [
      IncomingMessage,
    ]
    response.resume()
    return response.statusCode
  }
  const statuses = await Promise.all(Array.from({ length: 60 }, ask))
  assert.deepEqual(new Set(statuses), new Set([200]), guard.explain())
  server.close()
})
