/** Requests that take far longer than others: a learned limit does not count them, and a fixed limit does. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { fixedLimit } from '../../src/admission/limiter/limiter.ts'
import { type ProtectOptions, protect } from '../../src/index.ts'
import { eventually, type Held, startGated } from './harness.ts'

describe('requests that take far longer than others', () => {
  it('are left out of a learned limit: at most 5 % of the quick ones are shed', async t => {
    const { shed, all } = await shedOfQuick(t)
    assert.ok(shed <= all / 20, `${shed} of ${all} quick ones were shed`)
  })

  it('take permits from the quick ones under a fixed limit', async t => {
    const { shed, all } = await shedOfQuick(t, { limit: 8 })
    assert.ok(shed >= all / 4, `only ${shed} of ${all} quick ones were shed`)
  })

  it('keep all permits of a fixed limit until they end', async () => {
    const slow: Held[] = []
    const { connect, requestPath } = await startGated(
      (request, response) => {
        if (request.url === '/?slow') slow.push({ request, response })
        else response.end('quick')
      },
      { limit: 4 },
    )
    const quick = await connect()
    const clients = []
    for (let i = 0; i < 3; i++) clients.push((await connect()).get('/?slow'))
    await eventually('three are in service', () => slow.length === 3)
    for (let i = 0; i < 10; i++) await quick.get('/').answer()
    clients.push((await connect()).get('/?slow'))
    await eventually('four are in service', () => slow.length === 4)
    quick.get('/')
    await eventually('the quick one waits', () => requestPath.stats().queued === 1)
    await new Promise(resolve => setTimeout(resolve, 1000))
    const { inflight, queued, stragglers } = requestPath.stats()
    assert.deepEqual({ inflight, queued, stragglers }, { inflight: 4, queued: 1, stragglers: 0 })
    for (const { response } of slow) response.end()
    assert.equal((await quick.answer()).body, 'quick')
    for (const client of clients) await client.answer()
    await eventually('every permit is back', () => requestPath.stats().inflight === 0)
  })

  it('are counted as stragglers while a learned limit leaves them out', async () => {
    const slow: Held[] = []
    const limiter = {
      ...fixedLimit(4),
      get uncounted() {
        return Math.min(slow.length, 2)
      },
    }
    const { connect, requestPath } = await startGated((request, response) => void slow.push({ request, response }), {
      limiter,
    })
    const clients = []
    for (let i = 0; i < 3; i++) clients.push((await connect()).get('/'))
    await eventually('three are in service', () => slow.length === 3)
    const { inflight, stragglers } = requestPath.stats()
    assert.deepEqual({ inflight, stragglers }, { inflight: 3, stragglers: 2 })
    for (const { response } of slow) response.end()
    for (const client of clients) await client.answer()
  })

  it('take a permit again after a slow upload: no more handlers than the limit are at work', async () => {
    let working = 0
    let most = 0
    const { connect, requestPath } = await startGated(
      (request, response) => {
        if (request.method === 'GET') return void response.end('quick')
        request.resume().on('end', async () => {
          most = Math.max(most, ++working)
          await new Promise(resolve => setTimeout(resolve, 50))
          working--
          response.end('thanks')
        })
      },
      { limit: 2 },
    )
    const uploads = []
    for (let i = 0; i < 6; i++) {
      const client = await connect()
      uploads.push(client.send('POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n1'))
      const quick = await connect()
      for (let n = 0; n < 6; n++) await quick.get('/').answer()
      quick.destroy()
    }
    await eventually('all upload', () => requestPath.stats().admitted === 42)
    for (const client of uploads) client.send('2')
    for (const client of uploads) assert.equal((await client.answer()).body, 'thanks')
    assert.equal(most, 2)
    await eventually('every permit is back', () => requestPath.stats().inflight === 0)
  })

  it('are shed with an honest answer if their upload gets no permit again', async () => {
    const held: Held[] = []
    const { connect, requestPath } = await startGated(
      (request, response) => {
        if (request.url === '/quick') response.end()
        else held.push({ request: request.resume().on('end', () => undefined), response })
      },
      { limit: 1, tuning: { maxWaitMs: 100 } },
    )
    const upload = (await connect()).send('POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n1')
    const quick = await connect()
    for (let n = 0; n < 6; n++) await quick.get('/quick').answer()
    const slow = (await connect()).get('/slow')
    await eventually('both handlers have begun', () => held.length === 2)
    upload.send('2')
    const { status, body } = await upload.answer()
    assert.equal(status, 503)
    assert.match(body, /"This server is overloaded and no longer works on the request, which may or may not have been /)
    assert.equal(requestPath.stats().shed.late, 1)
    held[1]!.response.end()
    await slow.answer()
  })
})

/** For two seconds, sends 100/s that take 2 ms and 50/s that take 3 s. */
async function shedOfQuick(
  t: TestContext,
  options?: ProtectOptions,
): Promise<{ readonly shed: number; readonly all: number }> {
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
  return { shed: quick.filter(status => status !== 200).length, all: quick.length }
}
