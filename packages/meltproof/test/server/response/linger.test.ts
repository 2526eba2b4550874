/** A response that ends its connection reaches a client that is still sending, however it is written. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { describe, it } from 'node:test'
import { protect } from '../../../src/index.ts'
import { eventually, listen, startFull, startFullForClient } from '../harness.ts'
import type { RawConnection } from '../raw.ts'

const BODY = Buffer.alloc(10_000_000, 'x')

/** Sends everything before it reads, like simple clients. A reset fails it. */
async function sendAll(client: RawConnection, head: string, body: Buffer = BODY): Promise<void> {
  client.socket.pause()
  client.send(head)
  const failed = once(client.socket, 'close').then(() => {
    throw new Error('the connection was closed before all was sent')
  })
  failed.catch(() => undefined)
  await Promise.race([new Promise<void>(resolve => client.socket.write(body, () => resolve())), failed])
  client.socket.resume()
}

const length = `Content-Length: ${BODY.length}\r\n`
const UPLOADS: Readonly<Record<string, string>> = {
  'HTTP/1.1': `POST /shed HTTP/1.1\r\nHost: test\r\n${length}\r\n`,
  'HTTP/1.1 with Connection: close': `POST /shed HTTP/1.1\r\nHost: test\r\nConnection: close\r\n${length}\r\n`,
  'HTTP/1.0': `POST /shed HTTP/1.0\r\n${length}\r\n`,
  'HTTP/1.0 kept alive': `POST /shed HTTP/1.0\r\nConnection: keep-alive\r\n${length}\r\n`,
  'with an upgrade without a listener': `POST /shed HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: x\r\n${length}\r\n`,
  'sent without waiting for 100 Continue': `POST /shed HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\n${length}\r\n`,
}

for (const secure of [false, true]) {
  describe(`a shed upload of 10 MB, ${secure ? 'https' : 'http'}`, { timeout: 60_000 }, () => {
    for (const [what, head] of Object.entries(UPLOADS)) {
      it(`gets its response: ${what}`, async () => {
        const service = await startFull({ secure })
        const client = await service.connect()
        await sendAll(client, head)
        const answer = await client.answer('POST')
        assert.equal(answer.status, 503)
        assert.equal(answer.headers['connection'], 'close')
        assert.equal(await client.rest(), '')
      })
    }

    it('gets its response behind another one', async () => {
      const service = await startFull({ secure })
      await service.freePermits()
      const client = (await service.connect()).get('/a')
      const a = await service.holding.take('/a')
      ;(await service.connect()).get('/other')
      await eventually('the other waits', () => service.requestPath.stats().queued === 1)
      client.send(UPLOADS['HTTP/1.1']!)
      await eventually('it is shed', () => service.requestPath.stats().shed.full > 0)
      a.response.end('a')
      await sendAll(client, '')
      assert.equal((await client.answer()).body, 'a')
      const answer = await client.answer('POST')
      assert.deepEqual([answer.status, answer.headers['connection']], [503, 'close'])
      assert.equal(await client.rest(), '')
    })
  })
}

it('no request is started behind a shed upload that is answered after another response', async () => {
  const { service, client, a } = await startFullForClient()
  client.send('POST /shed HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n')
  await eventually('it is shed', () => service.requestPath.stats().shed.full > 0)
  a.response.end('a')
  assert.equal((await client.answer()).body, 'a')
  assert.equal((await client.answer('POST')).status, 503)
  client.send('x'.repeat(100_000)).get('/stowaway')
  await client.rest()
  assert.ok(!service.holding.started.includes('/stowaway'))
})

it('a 504 reaches a client that still uploads, and no request behind it is started', { timeout: 60_000 }, async () => {
  const started: string[] = []
  const server = http.createServer(request => started.push(request.url!))
  protect(server, { lanes: 1, deadlineMs: 60 })
  const client = await (await listen(server)).connect()
  await sendAll(client, `POST /late HTTP/1.1\r\nHost: test\r\n${length}\r\n`)
  client.get('/stowaway')
  const answer = await client.answer('POST')
  assert.deepEqual([answer.status, answer.headers['connection']], [504, 'close'])
  assert.equal(await client.rest(), '')
  assert.deepEqual(started, ['/late'])
})

it('meltproof closes a connection after its last response if the client does not', async () => {
  const service = await startFull()
  const client = await service.connect()
  client.send(`POST /shed HTTP/1.0\r\n${length}\r\n`)
  assert.equal((await client.answer('POST')).status, 503)
  await eventually(
    'only the two connections that fill the gate are left',
    () => (service.server as unknown as { _connections: number })._connections === 2,
  )
})
