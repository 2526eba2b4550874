/** Whoever takes far longer than all beside them goes on without a permit, while somebody waits and the loop rests. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { type ProtectOptions, protect } from '../../src/index.ts'
import type { RequestPolicy } from '../../src/server/request/policy.ts'
import { type DoorHouse, eventually, type Held, openDoor } from './harness.ts'

const resting: RequestPolicy = { loopBusyMs: () => 0 }
/** Busier than the clock goes, so that a pause between two readings does not pass for rest. */
const neverResting: RequestPolicy = { loopBusyMs: () => 2 * performance.now() }

/** A door of 4 permits before a handler that keeps the slow ones. */
async function house(policy: RequestPolicy, mostStragglers = 500) {
  const slow: Held[] = []
  const open = await openDoor(
    (request, response) => {
      if (request.url === '/?slow') slow.push({ request, response })
      else response.end('quick')
    },
    { limit: 4, policy, tuning: { mostStragglers } },
  )
  return { ...open, slow, quick: await open.connect() }
}

/** Three slow ones are in service for longer than 300 ms, and have been overtaken by ten quick ones; a fourth has not. */
async function overtaken({ connect, slow, quick }: Awaited<ReturnType<typeof house>>) {
  slow.length = 0
  const clients = []
  for (let i = 0; i < 3; i++) clients.push((await connect()).get('/?slow'))
  await eventually('three are in service', () => slow.length === 3)
  for (let i = 0; i < 10; i++) await quick.get('/').answer()
  clients.push((await connect()).get('/?slow'))
  await eventually('four are in service', () => slow.length === 4)
  await new Promise(resolve => setTimeout(resolve, 350))
  return clients
}

describe('requests that outstay', () => {
  it('make room for those who wait, and end as any other', async () => {
    const there = await house(resting)
    const clients = await overtaken(there)
    assert.equal((await there.quick.get('/').answer()).body, 'quick')
    assert.equal(there.door.stats().inflight, 1, 'the fourth has not been overtaken')
    assert.equal(there.door.stats().stragglers, 3)
    for (const { response } of there.slow) response.end('at last')
    for (const client of clients) assert.equal((await client.answer()).body, 'at last')
    await eventually('every permit is back', () => there.door.stats().inflight === 0)
    assert.equal(there.door.stats().stragglers, 0)
    // Four may be in service again, and not seven.
    there.slow.length = 0
    const again = []
    for (let i = 0; i < 5; i++) again.push((await there.connect()).get('/?slow'))
    await eventually(
      'four are in service, the fifth waits',
      () => there.slow.length === 4 && there.door.stats().queued === 1,
    )
    assert.equal(there.door.stats().inflight, 4)
    for (const { response } of there.slow) response.end()
    await eventually('the fifth is in service', () => there.slow.length === 5)
    there.slow[4]!.response.end()
    for (const client of again) await client.answer()
  })

  it('no more than may at once, however they end', async () => {
    const there = await house(resting, 2)
    for (const end of ['answer', 'abort', 'answer'] as const) {
      const clients = await overtaken(there)
      assert.equal((await there.quick.get('/').answer()).body, 'quick', end)
      assert.equal(there.door.stats().stragglers, 2, end)
      if (end === 'abort') for (const client of clients) client.destroy()
      for (const { response } of there.slow) response.end()
      await eventually(
        'every permit is back',
        () => there.door.stats().inflight === 0 && there.door.stats().stragglers === 0,
      )
      for (const client of clients) client.destroy()
    }
  })

  it('keep their permits where the loop never rests: they may be what works', () => staysFull(neverResting))

  it("keep them where the limit is the operator's", () => staysFull({}))

  it('keep them while nobody reads what waits: figures do not change anything', async () => {
    const there = await house(resting)
    const clients = await overtaken(there)
    for (let i = 0; i < 50; i++) {
      assert.equal(there.door.stats().inflight, 4)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    for (const { response } of there.slow) response.end()
    for (const client of clients) await client.answer()
  })

  it('keep them while they upload: what their handlers do with it is still to come', async () => {
    let working = 0
    let most = 0
    const there = await openDoor(
      (request, response) => {
        if (request.method === 'GET') return void response.end('quick')
        request.resume().on('end', async () => {
          most = Math.max(most, ++working)
          await new Promise(resolve => setTimeout(resolve, 50))
          working--
          response.end('thanks')
        })
      },
      { limit: 2, policy: resting },
    )
    const uploads = []
    for (let i = 0; i < 6; i++) {
      const client = await there.connect()
      uploads.push(client.send('POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n1'))
      const quick = await there.connect()
      for (let n = 0; n < 6; n++) await quick.get('/').answer()
      quick.destroy()
    }
    await eventually('all upload', () => there.door.stats().admitted === 42)
    for (const client of uploads) client.send('2')
    for (const client of uploads) assert.equal((await client.answer()).body, 'thanks')
    assert.equal(most, 2)
    await eventually('every permit is back', () => there.door.stats().inflight === 0)
  })

  it('keep them while nobody has overtaken them', async () => {
    const slow: Held[] = []
    const house = await openDoor((request, response) => slow.push({ request, response }), { limit: 4, policy: resting })
    const clients = []
    for (let i = 0; i < 5; i++) clients.push((await house.connect()).get('/?slow'))
    await eventually('four are in service', () => slow.length === 4)
    await waitsFor(house, 500)
    for (const { response } of slow) response.end()
    await eventually('the fifth is in service', () => slow.length === 5)
    slow[4]!.response.end()
    for (const client of clients) await client.answer()
  })

  it('are looked for where protect() learns the limit: a third of all takes 3 s, and the quick ones are served', async t => {
    const [shed, all] = await shedOfQuick(t)
    assert.ok(shed <= all / 20, `${shed} of ${all} quick ones were shed`)
  })

  it('are not where the operator knows it', async t => {
    const [shed, all] = await shedOfQuick(t, { limit: 8 })
    assert.ok(shed >= all / 4, `only ${shed} of ${all} quick ones were shed`)
  })
})

/** How many quick ones are shed, and how many there were. */
async function shedOfQuick(t: TestContext, options?: ProtectOptions): Promise<[shed: number, all: number]> {
  const server = http.createServer((request, response) => {
    setTimeout(() => response.end(), request.url === '/?slow' ? 3000 : 2)
  })
  protect(server, options)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as { port: number }
  const agent = new http.Agent({ keepAlive: true, maxSockets: 300 })
  const get = (path: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      http
        .get({ port, agent, path }, response => response.resume().on('end', () => resolve(response.statusCode)))
        .on('error', reject)
    })
  const statuses: Promise<number | undefined>[] = []
  for (let tick = 0; tick < 100; tick++) {
    statuses.push(get('/'), get('/'), get('/?slow'))
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  const quick = (await Promise.all(statuses)).filter((_, i) => i % 3 !== 2)
  agent.destroy()
  return [quick.filter(status => status !== 200).length, quick.length]
}

/** The four permits stay where they are: a quick one waits until somebody is answered. */
async function staysFull(policy: RequestPolicy): Promise<void> {
  const there = await house(policy)
  await overtaken(there)
  there.quick.get('/')
  await waitsFor(there, 500)
  for (const { response } of there.slow) response.end()
  assert.equal((await there.quick.answer()).body, 'quick')
}

/** Somebody waits and is still waiting after so long, ms: what would make room has had the time to. */
async function waitsFor(house: Pick<DoorHouse, 'door'>, ms: number): Promise<void> {
  await eventually('somebody waits', () => house.door.stats().queued === 1)
  await new Promise(resolve => setTimeout(resolve, ms))
  assert.equal(house.door.stats().queued, 1)
}
