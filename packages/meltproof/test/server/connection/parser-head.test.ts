/** Sheds at the parser's head callback: the same responses as one step later, without creating request objects. */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { type GatedService, eventually, startGated } from '../harness.ts'
import type { RawConnection } from '../raw.ts'

let made = 0
class CountedRequest extends http.IncomingMessage {
  constructor(socket: Socket) {
    super(socket)
    made++
  }
}

/** Serves one request at a time in 10 ms. Its queue counts as standing after 60 ms. */
function startSlow(): Promise<GatedService> {
  return startGated((_, response) => void setTimeout(() => response.end('served'), 10), {
    server: { IncomingMessage: CountedRequest, keepAlive: true } as http.ServerOptions,
    tuning: { intervalMs: 20, drainsAgain: 0, staleMs: 20, staleDepartures: 2, maxWaitMs: 5000 },
  })
}

/** Sends on all connections, and on each again once it is answered, until `enough`. Returns the responses by status. */
async function crowd(
  clients: readonly RawConnection[],
  request: string,
  enough: () => boolean,
): Promise<Map<number, number>> {
  const answers = new Map<number, number>()
  await Promise.all(
    clients.map(async client => {
      while (!enough()) {
        client.send(request)
        const { status } = await client.answer()
        answers.set(status, (answers.get(status) ?? 0) + 1)
      }
    }),
  )
  return answers
}

describe('while a queue stands', () => {
  it('a plain GET is shed without an IncomingMessage, and its connection is kept', async () => {
    const service = await startSlow()
    const clients = await Promise.all(Array.from({ length: 60 }, () => service.connect()))
    made = 0
    const counts = () => service.requestPath.stats()
    const answers = await crowd(clients, 'GET / HTTP/1.1\r\nHost: test\r\n\r\n', () => counts().shed.standing >= 500)
    // The parser hook learns llhttp's number for GET from the first GET, which gets a request object.
    const total = [...answers.values()].reduce((sum, n) => sum + n, 0)
    const shed = Object.values(counts().shed).reduce((sum, n) => sum + n, 0)
    assert.equal(answers.get(200), counts().admitted)
    assert.equal(answers.get(503), shed)
    assert.equal(made, total - counts().shed.standing)
    await eventually(
      'nothing is in service',
      () => service.requestPath.stats().inflight === 0 && service.requestPath.stats().queued === 0,
    )
  })

  for (const [what, request] of [
    ['POST with a body', 'POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nhi'],
    ['GET with a body', 'GET / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nhi'],
  ] as const) {
    it(`a ${what} is shed only after an IncomingMessage was made`, async () => {
      const service = await startSlow()
      const clients = await Promise.all(Array.from({ length: 60 }, () => service.connect()))
      made = 0
      const answers = await crowd(clients, request, () => service.requestPath.stats().shed.standing >= 100)
      assert.equal(
        made,
        [...answers.values()].reduce((sum, n) => sum + n, 0),
      )
    })
  }

  it('a request without a host is answered 400, as by a bare server', async () => {
    const service = await startSlow()
    const clients = await Promise.all(Array.from({ length: 60 }, () => service.connect()))
    const counts = () => service.requestPath.stats()
    let over = false
    const loading = crowd(clients, 'GET / HTTP/1.1\r\nHost: test\r\n\r\n', () => over)
    await eventually('the queue stands', () => counts().shed.standing > 20)
    for (let i = 0; i < 20; i++) {
      const client = await service.connect()
      client.send('GET / HTTP/1.1\r\n\r\n')
      assert.equal((await client.answer()).status, 400)
    }
    over = true
    await loading
  })

  it('pipelined requests are answered in order', async () => {
    const service = await startSlow()
    const clients = await Promise.all(Array.from({ length: 60 }, () => service.connect()))
    const counts = () => service.requestPath.stats()
    let over = false
    const loading = crowd(clients, 'GET / HTTP/1.1\r\nHost: test\r\n\r\n', () => over)
    await eventually('the queue stands', () => counts().shed.standing > 20)
    const one = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n'
    for (let i = 0; i < 20; i++) {
      const client = await service.connect()
      client.send(`${one}HEAD / HTTP/1.1\r\nHost: test\r\n\r\n${one}`)
      // A HEAD answered out of order would leave the client with a missing or an extra body.
      for (const method of ['GET', 'HEAD', 'GET']) assert.match(String((await client.answer(method)).status), /200|503/)
    }
    over = true
    await loading
  })

  it('after shedding, the pooled parsers still serve the HTTP client of the process', async () => {
    const service = await startSlow()
    const status = await new Promise((resolve, reject) => {
      http
        .get({ port: service.port, host: '127.0.0.1' }, response => {
          response.resume()
          resolve(response.statusCode)
        })
        .on('error', reject)
    })
    assert.equal(status, 200)
  })
})
