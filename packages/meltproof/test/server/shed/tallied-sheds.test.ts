/** Records of requests whose handlers never ran: each request is counted in one record, and many share a record. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { after, describe, it } from 'node:test'
import { type ShedMessage, sheds } from '../../../src/channels.ts'
import { protect } from '../../../src/server/protect.ts'
import { eventually, Holding, listen, startGated, startFull } from '../harness.ts'

/** Subscribes to the sheds of one server. Returns their messages, and the requests that they stand for, by reason. */
function told(server: http.Server) {
  const messages: ShedMessage[] = []
  const listener = (message: ShedMessage): void => {
    if (message.server === server) messages.push(message)
  }
  sheds.subscribe(listener)
  const counts = (): Record<string, number> => {
    const found: Record<string, number> = {}
    for (const { record } of messages) found[record.reason] = (found[record.reason] ?? 0) + record.count
    return found
  }
  after(() => sheds.unsubscribe(listener))
  return { messages, counts }
}

describe('shed records', () => {
  it('are one per request while there are few', async () => {
    const service = await startFull()
    const records = told(service.server)
    await (await service.connect()).send('DELETE /x?y HTTP/1.1\r\nHost: test\r\n\r\n').answer()
    const [{ record, request }] = records.messages as [ShedMessage]
    assert.deepEqual([record.reason, record.method, record.count], ['full', 'DELETE', 1])
    assert.equal(request?.url, '/x?y')
    assert.ok(record.waitedMs >= 0 && record.bytes > 0)
  })

  it('cover one shed each for the first 20 a second, and all later ones with the same fields together', async () => {
    const service = await startFull()
    const records = told(service.server)
    const began = Date.now()
    const client = await service.connect()
    for (let i = 0; i < 400; i++) {
      client.send(`${i % 2 === 0 ? 'GET' : 'PURGE'} / HTTP/1.1\r\nHost: test\r\n\r\n`)
      await client.answer()
    }
    service.requestPath.shedding.records!.publishRest()
    const seconds = Math.ceil((Date.now() - began) / 1000)
    const single = records.messages.filter(({ request }) => request !== undefined)
    const several = records.messages.filter(({ request }) => request === undefined)
    assert.deepEqual(records.counts(), { full: 400 })
    assert.ok(single.length >= 20 && single.length <= 20 * (seconds + 1), `${single.length} in ${seconds} s`)
    assert.deepEqual([...new Set(several.map(({ record }) => record.method))].sort(), ['GET', '_OTHER'])
    for (const { record } of single) assert.equal(record.count, 1)
  })

  it('include sheds at the request head, for which no request object is made', async () => {
    const service = await startGated((_, response) => void setTimeout(() => response.end('served'), 10), {
      tuning: { intervalMs: 20, drainsAgain: 0, staleMs: 20, staleDepartures: 2, maxWaitMs: 5000 },
    })
    const records = told(service.server)
    const standing = (): number => service.requestPath.stats().shed.standing
    const clients = await Promise.all(Array.from({ length: 60 }, () => service.connect()))
    await Promise.all(
      clients.map(async client => {
        while (standing() < 500) await client.get('/').answer()
      }),
    )
    service.requestPath.shedding.records!.publishRest()
    const counted = Object.entries(service.requestPath.stats().shed).filter(([, count]) => count > 0)
    assert.deepEqual(records.counts(), Object.fromEntries(counted))
    assert.ok(records.messages.length < standing() / 2, `${records.messages.length} records`)
  })

  it('are all published when the server has drained', async () => {
    const server = http.createServer(() => undefined)
    const guard = protect(server, { limit: 1, drainDelayMs: 0 })
    const { connect } = await listen(server)
    const records = told(server)
    const clients = await Promise.all(Array.from({ length: 80 }, () => connect()))
    for (const client of clients) client.get('/')
    await eventually('they wait', () => guard.stats().queued === 79)
    assert.equal(await guard.drain(50), false)
    assert.deepEqual(records.counts(), { closing: 79 })
  })

  it('are not published in a dry run', async () => {
    const server = http.createServer(() => undefined)
    const guard = protect(server, { limit: 1, dryRun: true })
    const { connect } = await listen(server)
    const records = told(server)
    const clients = await Promise.all(Array.from({ length: 3 }, () => connect()))
    for (const client of clients) client.get('/')
    await eventually('it counts', () => guard.stats().shed.late > 0)
    assert.deepEqual(records.counts(), {})
    for (const client of clients) client.destroy()
  })
})

describe('records of clients that disconnect while they wait', () => {
  const UPGRADE = ['Connection: Upgrade', 'Upgrade: nothing-anybody-listens-for']

  for (const [what, headers] of [
    ['in the queue of their connection', []],
    ['outside it, with an upgrade', UPGRADE],
  ] as const) {
    it(`are published once for each client: ${what}`, async () => {
      const holding = new Holding()
      const service = await startGated(holding.handler)
      ;(await service.connect()).get('/first')
      const { response } = await holding.take('/first')
      const records = told(service.server)
      const clients = await Promise.all(Array.from({ length: 10 }, () => service.connect()))
      for (const client of clients) client.get('/leaves', ...headers)
      await eventually('they wait', () => service.requestPath.stats().queued === 10)
      for (const [i, client] of clients.entries()) {
        if (i % 2 === 0) client.destroy()
        else client.socket.resetAndDestroy()
      }
      await eventually('they have left', () => service.requestPath.stats().queued === 0)
      assert.equal(service.requestPath.stats().left, 10)
      assert.deepEqual(records.counts(), { left: 10 })
      assert.equal(
        Object.values(service.requestPath.stats().shed).reduce((sum, count) => sum + count, 0),
        0,
      )
      response.end()
      await eventually('the permit is back', () => service.requestPath.stats().inflight === 0)
      assert.deepEqual(holding.started, ['/first'])
    })
  }

  it('include one for each request pipelined behind the waiting one', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler)
    ;(await service.connect()).get('/first')
    await holding.take('/first')
    const records = told(service.server)
    const client = (await service.connect()).get('/leaves').get('/behind').get('/behind')
    await eventually('it waits', () => service.requestPath.stats().queued === 1)
    client.destroy()
    await eventually('all have left', () => service.requestPath.stats().left === 3)
    assert.deepEqual(records.counts(), { left: 3 })
  })
})
