/**
 * The headers of a shed that a browser's script from another origin can read: those of the operator, also on its
 * preflight.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { checkProtectOptions } from '../../../src/server/protect-options.ts'
import { checkShedHeaders } from '../../../src/server/response/shed-headers.ts'
import { protect } from '../../../src/server/protect.ts'
import { eventually, startFull } from '../harness.ts'

const CORS = {
  'access-control-allow-origin': 'https://shop.example',
  'access-control-allow-methods': 'GET, PUT',
  'access-control-expose-headers': 'retry-after',
}
const PREFLIGHT = 'OPTIONS /cart HTTP/1.1\r\nHost: test\r\nOrigin: https://shop.example\r\n'
const ASKS = 'Access-Control-Request-Method: PUT\r\n'

describe('a shed with CORS headers', () => {
  it('sends them all in addition to its own', async () => {
    const service = await startFull({ answer: { headers: CORS } })
    const { status, headers } = await (await service.connect()).get('/cart', 'Origin: https://shop.example').answer()
    assert.equal(status, 503)
    for (const [name, value] of Object.entries(CORS)) assert.equal(headers[name], value)
    assert.match(headers['retry-after']!, /^[1-5]$/)
  })

  it('answers a preflight with them, and keeps the connection', async () => {
    const service = await startFull({ answer: { headers: CORS } })
    const client = (await service.connect()).send(`${PREFLIGHT}${ASKS}\r\n`)
    const { status, headers } = await client.answer()
    assert.equal(status, 204)
    for (const [name, value] of Object.entries(CORS)) assert.equal(headers[name], value)
    assert.equal(headers['retry-after'], undefined)
    assert.equal((await client.get('/cart').answer()).status, 503)
    assert.deepEqual(service.holding.started, ['/in-service'])
  })

  for (const [what, request, headers] of [
    ['an OPTIONS that is no preflight', `${PREFLIGHT}\r\n`, CORS],
    ['a preflight where the operator allows no origin', `${PREFLIGHT}${ASKS}\r\n`, { vary: 'origin' }],
    ['a POST that only looks like one', `POST / HTTP/1.1\r\nHost: test\r\n${ASKS}\r\n`, CORS],
  ] as const) {
    it(`sheds ${what} like any other request`, async () => {
      const service = await startFull({ answer: { headers } })
      assert.equal((await (await service.connect()).send(request).answer()).status, 503)
    })
  }
})

describe('a shed with CORS headers over HTTP/2', () => {
  const server = http2.createServer((request, response) => {
    if (request.url !== '/held') response.end()
  })
  after(() => server.close())

  it('sends them all, and answers a preflight with them', async () => {
    const guard = protect(server, { limit: 1, deadlineMs: 60_000, shedHeaders: CORS })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const ask = (fields: http2.OutgoingHttpHeaders): Promise<http2.IncomingHttpHeaders> => {
      const stream = session.request(fields)
      stream.resume().on('error', () => undefined)
      return once(stream, 'response').then(([headers]) => headers as http2.IncomingHttpHeaders)
    }
    const held = session.request({ ':path': '/held' })
    held.on('error', () => undefined)
    await eventually('one is in service', () => guard.stats().inflight === 1)
    const answers = Promise.all([
      ask({ ':path': '/' }),
      ask({ ':path': '/', ':method': 'OPTIONS', 'access-control-request-method': 'PUT' }),
    ])
    await eventually('both wait', () => guard.stats().queued === 2)
    void guard.drain(0)
    const [shed, preflight] = await answers
    assert.deepEqual([shed[':status'], preflight[':status']], [503, 204])
    for (const [name, value] of Object.entries(CORS)) {
      assert.equal(shed[name], value)
      assert.equal(preflight[name], value)
    }
    session.destroy()
  })
})

describe('shedHeaders', () => {
  for (const [headers, sentence] of [
    [{ 'x-a': 'one\r\nset-cookie: a=b' }, /printable ASCII/],
    [{ 'x-a': 'ümlaut' }, /printable ASCII/],
    [{ 'x-a': ' padded' }, /printable ASCII/],
    [{ 'x-a': '' }, /printable ASCII/],
    [{ 'x-a': 3 }, /printable ASCII/],
    [{ 'x a': 'b' }, /the name of a header field; got 'x a'/],
    [{ 'x-a:\r\nx-b': 'b' }, /the name of a header field/],
    [{ '': 'b' }, /the name of a header field/],
    [{ 'Content-Length': '0' }, /not a field that meltproof or Node writes; got 'content-length'/],
    [{ 'transfer-encoding': 'chunked' }, /not a field that meltproof or Node writes/],
    [{ connection: 'upgrade' }, /not a field that meltproof or Node writes/],
    [{ 'content-encoding': 'gzip' }, /not a field that meltproof or Node writes/],
    [{ 'Retry-After': '3' }, /not a field that meltproof or Node writes/],
    [{ Vary: 'origin', vary: 'accept' }, /given only once/],
    [{ 'x-a': 'a'.repeat(8190) }, /at most 8192 bytes/],
    [['x-a'], /an object of header fields/],
  ] as const) {
    it(`rejects ${JSON.stringify(headers).slice(0, 60)}`, () => {
      assert.throws(() => checkProtectOptions({ shedHeaders: headers as never }), sentence)
    })
  }

  it('accepts unusual but valid headers', () => {
    const odd = { constructor: 'a', __proto__x: 'b', 'x-list': 'a, "b\\"', Vary: 'Origin' }
    const { Vary: vary, ...rest } = odd
    assert.deepEqual(checkShedHeaders('shedHeaders', odd), { ...rest, vary })
    assert.doesNotThrow(() => http.validateHeaderValue('x-list', odd['x-list']))
  })
})
