/**
 * Clients that send their end right after their requests, and still want an answer: `server.httpAllowHalfOpen`. Servers
 * of node:https have none of this: TLS ends with the first end.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { eventually, Holding, openDoor, type DoorOptions } from './harness.ts'
import type { RawConnection } from './raw.ts'

async function occupied(options: DoorOptions = {}) {
  const holding = new Holding()
  const house = await openDoor(holding.handler, options)
  Object.assign(house.server, { httpAllowHalfOpen: true })
  ;(await house.connect()).get('/first')
  const { response } = await holding.take('/first')
  return { ...house, holding, leave: () => response.end() }
}

/** Until the server has seen the end of the client's side. */
async function ended(client: RawConnection, ends: () => number): Promise<void> {
  const before = ends()
  client.socket.end()
  await eventually('the server has seen it', () => ends() > before)
}

describe('a client that has sent its end', { timeout: 20_000 }, () => {
  const open = async (options: DoorOptions = {}) => {
    const house = await occupied(options)
    let ends = 0
    house.server.on('connection', socket => socket.on('end', () => ends++))
    return { ...house, ends: () => ends }
  }

  it('is answered when its request has waited, and then the connection closes', async () => {
    const house = await open()
    const client = (await house.connect()).get('/waits')
    await eventually('it waits', () => house.door.stats().queued === 1)
    await ended(client, house.ends)
    house.leave()
    ;(await house.holding.take('/waits')).response.end('served')
    assert.equal((await client.answer()).body, 'served')
    assert.equal(await client.rest(), '')
  })

  it('is told when its request is shed, and then the connection closes', async () => {
    const house = await open({ tuning: { maxWaitMs: 150 } })
    const client = (await house.connect()).get('/waits')
    await eventually('it waits', () => house.door.stats().queued === 1)
    await ended(client, house.ends)
    const answer = await client.answer()
    assert.equal(answer.status, 503)
    assert.equal(answer.headers['connection'], 'close')
    assert.equal(await client.rest(), '')
  })

  it('has all its pipelined requests answered, whether they wait or not', async () => {
    const house = await open({ limit: 2 })
    const client = (await house.connect()).get('/a').get('/b').get('/c')
    const a = await house.holding.take('/a')
    await eventually('b waits', () => house.door.stats().queued === 1)
    await ended(client, house.ends)
    a.response.end('a')
    assert.equal((await client.answer()).body, 'a')
    for (const path of ['/b', '/c']) {
      ;(await house.holding.take(path)).response.end(path)
      assert.equal((await client.answer()).body, path)
    }
    assert.equal(await client.rest(), '')
  })

  it('has them answered where the last ones are in line behind one that is being written', async () => {
    const house = await open({ limit: 3 })
    const client = (await house.connect()).get('/a').get('/b').get('/c')
    const a = await house.holding.take('/a')
    const b = await house.holding.take('/b')
    await eventually('c waits', () => house.door.stats().queued === 1)
    await ended(client, house.ends)
    a.response.end('a')
    b.response.end('b')
    assert.equal((await client.answer()).body, 'a')
    assert.equal((await client.answer()).body, 'b')
    ;(await house.holding.take('/c')).response.end('c')
    assert.equal((await client.answer()).body, 'c')
    assert.equal(await client.rest(), '')
  })

  it('is answered when the door opens', async () => {
    const house = await open()
    const client = (await house.connect()).get('/a').get('/b')
    await eventually('a waits', () => house.door.stats().queued === 1)
    await ended(client, house.ends)
    house.door.open()
    for (const path of ['/a', '/b']) {
      ;(await house.holding.take(path)).response.end(path)
      assert.equal((await client.answer()).body, path)
    }
    assert.equal(await client.rest(), '')
  })
})

describe('a client that has sent its end without httpAllowHalfOpen', () => {
  it('is gone, as without a door', async () => {
    const house = await occupied()
    Object.assign(house.server, { httpAllowHalfOpen: false })
    const client = (await house.connect()).get('/waits')
    await eventually('it waits', () => house.door.stats().queued === 1)
    client.socket.end()
    await eventually('it has left', () => house.door.stats().queued === 0)
    assert.equal(await client.rest(), '')
  })
})
