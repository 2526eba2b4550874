/** The exact bytes of a shed's response, and what happens to its connection. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sheds } from '../../../src/channels.ts'
import { HTML_PAGE, SHED_PROBLEM } from '../../../src/server/response/own-answers.ts'
import { eventually, Holding, startGated, startFull } from '../harness.ts'
import type { RawConnection } from '../raw.ts'

for (const secure of [false, true]) {
  describe(`the response of a shed, ${secure ? 'https' : 'http'}`, () => {
    it('is a 503 with problem details, Retry-After, Date and Keep-Alive', async () => {
      const service = await startFull({ secure })
      const answer = await (await service.connect()).get('/shed').answer()
      assert.equal(answer.status, 503)
      assert.equal(answer.headers['content-type'], 'application/problem+json')
      assert.equal(answer.headers['cache-control'], 'no-store')
      assert.equal(answer.headers['connection'], 'keep-alive')
      assert.equal(answer.headers['keep-alive'], 'timeout=5')
      assert.match(answer.headers['retry-after']!, /^[1-5]$/)
      assert.ok(Math.abs(Date.parse(answer.headers['date']!) - Date.now()) < 60_000, answer.headers['date'])
      assert.deepEqual(JSON.parse(answer.body), JSON.parse(SHED_PROBLEM.text))
      assert.equal(JSON.parse(answer.body).status, 503)
      assert.equal(service.requestPath.stats().shed.full, 1)
    })

    it('spreads Retry-After over its configured range', async () => {
      const service = await startFull({ secure, answer: { retryAfterS: [3, 9] } })
      const client = await service.connect()
      const seen = new Set<number>()
      for (let i = 0; i < 200; i++) seen.add(Number((await client.get('/shed').answer()).headers['retry-after']))
      assert.ok(seen.size > 3, `${seen.size} different values in 200 answers`)
      for (const seconds of seen) assert.ok(Number.isInteger(seconds) && seconds >= 3 && seconds <= 9, `${seconds}`)
    })

    it('leaves the connection usable for a request that is served', async () => {
      const service = await startFull({ secure })
      const client = await service.connect()
      for (let i = 0; i < 5; i++) assert.equal((await client.get(`/shed-${i}`).answer()).status, 503)
      await service.freePermits()
      client.get('/now')
      const { response } = await service.holding.take('/now')
      response.end('served')
      assert.equal((await client.answer()).body, 'served')
    })
  })
}

describe('the body of a shed', () => {
  it('is an HTML page for browsers only', async () => {
    const service = await startFull()
    const client = await service.connect()
    const browser = 'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    const page = await client.get('/shed', browser).answer()
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(Buffer.from(page.body, 'latin1').toString('utf8'), HTML_PAGE)
    for (const accept of ['*/*', 'application/json', 'application/json, text/html', 'text/plain']) {
      const answer = await client.get('/shed', `aCCept: ${accept}`).answer()
      assert.equal(answer.headers['content-type'], 'application/problem+json', accept)
    }
  })

  it('is omitted for HEAD, but its Content-Length is sent', async () => {
    const service = await startFull()
    const client = await service.connect()
    const head = await client.send('HEAD /shed HTTP/1.1\r\nHost: test\r\n\r\n').answer('HEAD')
    assert.equal(head.status, 503)
    assert.equal(Number(head.headers['content-length']), Buffer.byteLength(SHED_PROBLEM.text))
    assert.equal((await client.get('/shed').answer()).status, 503, 'nothing follows the head but the next answer')
  })

  it('can be configured, and its length is counted in bytes', async () => {
    const text = '{"lage":"überlastet – bitte später 🫠"}'
    const service = await startFull({ answer: { body: { type: 'application/json', text }, page: '<p>später</p>' } })
    const client = await service.connect()
    const json = await client.get('/shed').answer()
    assert.equal(json.headers['content-type'], 'application/json')
    assert.equal(Buffer.from(json.body, 'latin1').toString('utf8'), text)
    assert.equal(Number(json.headers['content-length']), Buffer.byteLength(text))
    const page = await client.get('/shed', 'Accept: text/html').answer()
    assert.equal(Buffer.from(page.body, 'latin1').toString('utf8'), '<p>später</p>')
  })
})

describe('a request without a Host header at a full gate', () => {
  for (const [what, version, requireHostHeader, status] of [
    ['gets a 400 from Node, and is not shed', '1.1', true, 400],
    ['is shed if Node does not require the header', '1.1', false, 503],
    ['is shed if its version needs none', '1.0', true, 503],
  ] as const) {
    it(`${what}: HTTP/${version}`, async () => {
      const service = await startFull({ server: { requireHostHeader } })
      const counts = () => service.requestPath.stats()
      const told: object[] = []
      const listener = (message: object): void => void told.push(message)
      sheds.subscribe(listener)
      const client = (await service.connect()).send(`GET / HTTP/${version}\r\n\r\n`)
      assert.equal((await client.answer()).status, status)
      sheds.unsubscribe(listener)
      const shed = status === 503 ? 1 : 0
      assert.deepEqual([counts().shed.full, told.length, counts().admitted], [shed, shed, 2 - shed])
      assert.equal(service.requestPath.stats().inflight, 1)
      assert.deepEqual(service.holding.started, ['/in-service'])
    })
  }
})

describe('the connection after a shed', () => {
  it('is kept while a small body is still arriving', async () => {
    const service = await startFull()
    const client = await service.connect()
    client.send('POST /shed HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n12345')
    assert.equal((await client.answer()).headers['connection'], 'keep-alive')
    // The rest looks like a request, but is part of the body.
    client.send('GET /').get('/next')
    const next = await client.answer()
    assert.equal(next.status, 503)
    assert.equal(client.received, '')
    assert.equal(service.requestPath.stats().shed.full, 2)
  })

  for (const [what, head, body] of [
    ['a large body', 'Content-Length: 300000\r\n', Buffer.alloc(300_000, 'x')],
    ['a chunked body', 'Transfer-Encoding: chunked\r\n', Buffer.from('5\r\nhello\r\n0\r\n\r\n')],
    ['a body that waits for 100 Continue', 'Expect: 100-continue\r\nContent-Length: 5\r\n', Buffer.from('hello')],
  ] as const) {
    it(`is closed if ${what} is still to arrive, and the response can still be read`, async () => {
      const service = await startFull()
      const client = await service.connect()
      client.send(`POST /shed HTTP/1.1\r\nHost: test\r\n${head}\r\n`)
      const answer = await client.answer('POST')
      assert.equal(answer.status, 503)
      assert.equal(answer.headers['connection'], 'close')
      client.send(body)
      assert.equal(await client.rest(), '')
    })
  }

  it('is closed if the client sends Connection: close', async () => {
    const service = await startFull()
    const client = await service.connect()
    const answer = await client.get('/shed', 'Connection: close').answer()
    assert.equal(answer.headers['connection'], 'close')
    assert.equal(answer.headers['keep-alive'], undefined)
    await client.rest()
  })

  it('is closed for HTTP/1.0, unless the client requests keep-alive', async () => {
    const service = await startFull()
    const closing = await service.connect()
    assert.equal((await closing.send('GET /shed HTTP/1.0\r\n\r\n').answer()).status, 503)
    await closing.rest()
    const kept = await service.connect()
    for (let i = 0; i < 2; i++) {
      const answer = await kept.send('GET /shed HTTP/1.0\r\nConnection: keep-alive\r\n\r\n').answer()
      assert.equal(answer.status, 503)
      assert.equal(answer.headers['connection'], 'keep-alive')
    }
  })

  it('is closed after the idle timeout, as by Node', async () => {
    const service = await startFull({ server: { keepAliveTimeout: 50, keepAliveTimeoutBuffer: 0 } as object })
    const client = await service.connect()
    assert.equal((await client.get('/shed').answer()).status, 503)
    assert.equal(await client.rest(), '')
  })

  it('has no idle timeout during a request that is admitted later', async () => {
    const service = await startFull({ server: { keepAliveTimeout: 20_000, keepAliveTimeoutBuffer: 0 } as object })
    const client = await service.connect()
    assert.equal((await client.get('/shed').answer()).status, 503)
    await service.freePermits()
    client.get('/long')
    const { response } = await service.holding.take('/long')
    assert.equal(response.socket!.timeout, 0)
    response.end('done')
    assert.equal((await client.answer()).body, 'done')
  })

  it('has no idle timeout during a request that arrives after meltproof stepped aside', async () => {
    const service = await startFull({ server: { keepAliveTimeout: 20_000, keepAliveTimeoutBuffer: 0 } as object })
    const client = await service.connect()
    assert.equal((await client.get('/shed').answer()).status, 503)
    service.requestPath.processGate.failOpen.open()
    await service.holding.take('/waiting')
    client.get('/long')
    const { response } = await service.holding.take('/long')
    assert.equal(response.socket!.timeout, 0)
    response.end('done')
    assert.equal((await client.answer()).body, 'done')
  })

  it('is not closed by the idle timeout of Node while a request waits', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler, {
      server: { keepAliveTimeout: 500, keepAliveTimeoutBuffer: 0 } as object,
    })
    const client = (await service.connect()).get('/first')
    const first = await holding.take('/first')
    const other = (await service.connect()).get('/other')
    first.response.end()
    const inService = await holding.take('/other')
    await client.answer()
    client.get('/second')
    await eventually('the second waits', () => service.requestPath.stats().queued === 1)
    // Longer than the idle timeout. Only a closed connection could end this wait early.
    await Promise.race([client.closed, new Promise(resolve => setTimeout(resolve, 800))])
    assert.equal(client.isClosed, false)
    inService.response.end()
    await other.answer()
    ;(await holding.take('/second')).response.end('served')
    assert.equal((await client.answer()).body, 'served')
  })

  it('starts no request after a shed that closes it', async () => {
    const service = await startFull()
    const client = await service.connect()
    const closing = 'POST /shed HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n'
    client.send(closing)
    assert.equal((await client.answer('POST')).headers['connection'], 'close')
    await service.freePermits()
    client.send('0\r\n\r\n').get('/stowaway')
    await client.rest()
    assert.deepEqual(service.holding.started, ['/in-service', '/waiting'])
  })

  it('is released once the client has disconnected', async () => {
    const service = await startFull()
    const clients: RawConnection[] = []
    for (let i = 0; i < 20; i++) {
      const client = await service.connect()
      client.send('POST /shed HTTP/1.1\r\nHost: test\r\nContent-Length: 300000\r\n\r\n')
      await client.answer('POST')
      clients.push(client)
    }
    for (const client of clients) client.destroy()
    await eventually(
      'only the two connections that fill the gate are left',
      () => (service.server as unknown as { _connections: number })._connections === 2,
    )
  })
})

describe('the unread body of a shed request', () => {
  it('is discarded even if it filled the buffer, so that the next request is read', async () => {
    const holding = new Holding()
    const service = await startGated(holding.handler, { tuning: { maxWaitMs: 150 }, server: { highWaterMark: 1024 } })
    ;(await service.connect()).get('/in-service')
    const { response } = await holding.take('/in-service')
    const client = await service.connect()
    client.send(`POST /shed HTTP/1.1\r\nHost: test\r\nContent-Length: 60000\r\n\r\n${'x'.repeat(30_000)}`)
    assert.equal((await client.answer('POST')).status, 503)
    response.end()
    client.send('x'.repeat(30_000)).get('/next')
    ;(await holding.take('/next')).response.end('read on')
    assert.equal((await client.answer()).body, 'read on')
  })

  it('makes a lenient parser close the connection if Content-Length and Transfer-Encoding disagree', async () => {
    const service = await startFull({ server: { insecureHTTPParser: true } })
    for (const head of [
      'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n',
      'Transfer-Encoding: chunked\r\nContent-Length: 3\r\n',
    ]) {
      const client = await service.connect()
      client.send(`POST /shed HTTP/1.1\r\nHost: test\r\n${head}\r\n`)
      assert.equal((await client.answer('POST')).headers['connection'], 'close', head)
    }
  })
})

describe('a request at a full gate, under options of node:http', () => {
  for (const requireHostHeader of [true, false]) {
    it(`without Host gets ${requireHostHeader ? 'a 400 from Node' : 'a 503, and keeps the connection'}`, async () => {
      const service = await startFull({ server: { requireHostHeader } })
      const client = await service.connect()
      for (let i = 0; i < 2 && !client.isClosed; i++) {
        const { status } = await client.send('GET /shed HTTP/1.1\r\n\r\n').answer()
        assert.equal(status, requireHostHeader ? 400 : 503)
        if (requireHostHeader) await client.rest()
      }
      assert.equal(service.requestPath.stats().shed.full, requireHostHeader ? 0 : 2)
    })
  }

  it('does not count towards maxRequestsPerSocket if it is shed', async () => {
    const service = await startFull()
    service.server.maxRequestsPerSocket = 2
    const client = await service.connect()
    for (let i = 0; i < 4; i++) assert.equal((await client.get('/shed').answer()).status, 503)
    await service.freePermits()
    client.get('/one')
    ;(await service.holding.take('/one')).response.end('1')
    assert.equal((await client.answer()).headers['connection'], 'keep-alive')
    client.get('/two')
    ;(await service.holding.take('/two')).response.end('2')
    assert.equal((await client.answer()).headers['connection'], 'close')
  })
})
