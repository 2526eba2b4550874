/** protect(server, { deadlineMs }): a budget for every request, on real connections. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { type RequestListener } from 'node:http'
import http2, { type IncomingHttpHeaders } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { DeadlineExceededError, remaining, within } from '../../src/deadline/index.ts'
import { pendingFairTimers } from '../../src/deadline/fair-timer.ts'
import { isMeltproofError } from '../../src/errors.ts'
import { protect, type ProtectOptions } from '../../src/index.ts'
import { rejection } from '../rejection.ts'
import { connect as connectRaw, eventually, listen } from './harness.ts'

async function serve(options: ProtectOptions, handler: RequestListener): Promise<string> {
  const server = http.createServer(handler)
  protect(server, { lanes: 1, ...options })
  const { port } = await listen(server)
  return `http://127.0.0.1:${port}/`
}

const forever = (): Promise<never> => new Promise(() => {})

test('with deadlineMs, a response in time is unchanged, and no timer is left', async () => {
  const seen: number[] = []
  const url = await serve({ deadlineMs: 3000 }, (_, response) => {
    seen.push(remaining())
    response.end('hello')
  })
  for (let i = 0; i < 5; i++) assert.equal(await (await fetch(url)).text(), 'hello')
  assert.ok(seen.every(ms => ms > 0 && ms <= 3000))
  assert.equal(pendingFairTimers(), 0)
})

test('without deadlineMs, remaining() is Infinity', async () => {
  const url = await serve({}, (_, response) => response.end(String(remaining())))
  assert.equal(await (await fetch(url, { headers: { 'grpc-timeout': '5m' } })).text(), 'Infinity')
})

test('in a dry run a deadline cancels nothing, and the app answers late, as without meltproof', async () => {
  const url = await serve({ deadlineMs: 50, dryRun: true }, async (_, response) => {
    await sleep(200)
    response.end(String(remaining()))
  })
  const answer = await fetch(url)
  assert.deepEqual([answer.status, await answer.text()], [200, 'Infinity'])
})

test('after the 504 of an HTTP/2 request its handler may use the stream, without an exception', async t => {
  const done = Promise.withResolvers<void>()
  const server = http2.createServer(async (_, response) => {
    await sleep(300)
    try {
      response.stream.respond({ ':status': 200 })
      response.stream.additionalHeaders({ ':status': 102 })
      response.stream.end('late')
      done.resolve()
    } catch (error) {
      done.reject(error)
    }
  })
  protect(server, { deadlineMs: 50 })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.after(() => {
    session.destroy()
    server.close()
  })
  const stream = session.request({ ':path': '/' }).resume()
  const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  assert.equal(head[':status'], 504)
  await done.promise
})

test('at the deadline a request gets a 504, its work is cancelled, and later writes are dropped', async () => {
  const reason = Promise.withResolvers<unknown>()
  const late = Promise.withResolvers<string>()
  const url = await serve({ deadlineMs: 150 }, (_, response) => {
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('set-cookie', 'a=b')
    response.setHeader('content-encoding', 'gzip')
    within(Number.POSITIVE_INFINITY, forever).catch(async error => {
      reason.resolve(error)
      await sleep(10)
      response.setHeader('x-late', '1')
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.write('too late')
      response.end('really', () => late.resolve(`ended ${response.headersSent}`))
    })
  })
  const startMs = performance.now()
  const answer = await fetch(url)
  const body = (await answer.json()) as { status: number }
  assert.equal(answer.status, 504)
  assert.equal(body.status, 504)
  assert.ok(performance.now() - startMs >= 149)
  assert.equal(answer.headers.get('content-type'), 'application/problem+json')
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  assert.equal(answer.headers.get('set-cookie'), null)
  assert.equal(answer.headers.get('content-encoding'), null)
  const error = await reason.promise
  assert.ok(error instanceof DeadlineExceededError)
  assert.equal(error.phase, 'work')
  const { cause } = error
  assert.ok(cause instanceof DeadlineExceededError)
  assert.equal(cause.phase, 'handler')
  assert.match(cause.message, /the request took more than \d+ ms.*the handler to answer/s)
  assert.equal(await late.promise, 'ended true')
  assert.equal(pendingFairTimers(), 0)
})

test('a 504 keeps its connection open, and is an HTML page for browsers', async () => {
  const server = http.createServer((request, response) => {
    if (request.url === '/quick') response.end('quick')
  })
  protect(server, { lanes: 1, deadlineMs: 100 })
  const connection = await (await listen(server)).connect()
  connection.send('GET /slow HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n')
  const page = await connection.answer()
  assert.equal(page.status, 504)
  assert.match(String(page.body), /This took too long/)
  connection.send('GET /quick HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.equal(String((await connection.answer()).body), 'quick')
})

test('a response that has begun continues past the deadline, without a limit', async () => {
  const url = await serve({ deadlineMs: 100 }, async (_, response) => {
    response.write('one ')
    await sleep(250)
    const left = remaining()
    await within(1000, () => sleep(5))
    response.end(`two ${left}`)
  })
  const answer = await fetch(url)
  assert.equal(answer.status, 200)
  assert.equal(await answer.text(), 'one two Infinity')
})

test('work left running after the response is not limited by the deadline', async () => {
  const done = Promise.withResolvers<string>()
  const url = await serve({ deadlineMs: 80 }, async (_, response) => {
    response.end('accepted')
    await sleep(160)
    done.resolve(await within(1000, async () => 'finished').catch(String))
  })
  await (await fetch(url)).text()
  assert.equal(await done.promise, 'finished')
})

test('after a 504 to a request that arrived whole, the connection serves the next one, also with Expect', async () => {
  const url = await serve({ deadlineMs: 100 }, (request, response) => {
    if (request.method === 'GET') response.end('served')
    else request.resume()
  })
  const client = await connectRaw(Number(new URL(url).port))
  client
    .send('POST /hangs HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi')
    .get('/behind')
  assert.equal((await client.answer()).status, 100)
  const { status, headers } = await client.answer()
  assert.equal(status, 504)
  assert.equal(headers['connection'], 'keep-alive')
  assert.equal((await client.answer()).body, 'served')
})

test('an upload that takes longer than the deadline is not cut off', async () => {
  const url = new URL(
    await serve({ deadlineMs: 100 }, (request, response) => {
      let bytes = 0
      request.on('data', chunk => {
        bytes += chunk.length
      })
      request.on('end', () => response.end(String(bytes)))
    }),
  )
  const request = http.request(url, { method: 'POST' })
  request.write('x'.repeat(10))
  await sleep(250)
  request.end('y'.repeat(10))
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  assert.equal(response.statusCode, 200)
  response.resume()
})

const leftOf =
  (url: string) =>
  async (headers: Record<string, string>): Promise<number> =>
    Number(await (await fetch(url, { headers })).text())
const tellsRemaining: RequestListener = (_, response) => response.end(String(remaining()))

test('trusted callers shorten the deadline, never lengthen it, and malformed headers are ignored', async () => {
  const left = leftOf(await serve({ deadlineMs: 2000, trustCallersFrom: ['127.0.0.0/8'] }, tellsRemaining))
  assert.ok((await left({ 'x-envoy-expected-rq-timeout-ms': '500' })) <= 500)
  assert.ok((await left({ 'grpc-timeout': '1S' })) <= 1000)
  for (const headers of [
    { 'x-envoy-expected-rq-timeout-ms': '99999999' },
    { 'grpc-timeout': 'soon' },
    { 'x-envoy-expected-rq-timeout-ms': '-5, x' },
    {},
  ]) {
    const ms = await left(headers)
    assert.ok(ms > 1000 && ms <= 2000, `${JSON.stringify(headers)}: ${ms}`)
  }
  const none = leftOf(await serve({ deadlineMs: 2000, deadlineHeaders: [], trustCallersFrom: true }, tellsRemaining))
  assert.ok((await none({ 'grpc-timeout': '5m' })) > 1000)
  const deadlineHeaders = [{ name: 'X-Left', format: 'milliseconds' }] as const
  const own = leftOf(await serve({ deadlineMs: 2000, deadlineHeaders, trustCallersFrom: true }, tellsRemaining))
  assert.ok((await own({ 'x-left': '400' })) <= 400)
})

test('an untrusted caller gets a 504 after the timeout it set, but the work continues', async () => {
  for (const trustCallersFrom of [false, ['10.0.0.0/8']]) {
    const untold = leftOf(await serve({ deadlineMs: 2000, trustCallersFrom }, tellsRemaining))
    assert.ok((await untold({ 'grpc-timeout': '500m' })) > 1000)
    const ended = Promise.withResolvers<string>()
    const slow = await serve({ deadlineMs: 60_000, trustCallersFrom }, async (_, response) => {
      ended.resolve(await within(30_000, signal => sleep(200, 'done', { signal })).catch(String))
      response.end()
    })
    assert.equal((await fetch(slow, { headers: { 'grpc-timeout': '50m' } })).status, 504)
    assert.equal(await ended.promise, 'done')
    await eventually('no timer is left', () => pendingFairTimers() === 0)
  }
})

test('the deadline of the server cancels the work of a caller that got its 504 earlier', async () => {
  const reason = Promise.withResolvers<unknown>()
  const url = await serve({ deadlineMs: 200 }, async () => {
    reason.resolve(await rejection(within(30_000, forever)))
  })
  assert.equal((await fetch(url, { headers: { 'grpc-timeout': '50m' } })).status, 504)
  assert.ok((await reason.promise) instanceof DeadlineExceededError)
  await eventually('no timer is left', () => pendingFairTimers() === 0)
})

test('an answer that begins in time and lasts longer than the deadline does not shed the next of its kind', async () => {
  const url = await serve({ deadlineMs: 100 }, async (_, response) => {
    response.write('begins ')
    await sleep(200)
    response.end('and ends')
  })
  for (let i = 0; i < 12; i++) await (await fetch(url)).text()
  const first = await fetch(url)
  const second = await fetch(url)
  assert.deepEqual([first.status, second.status], [200, 200])
  assert.equal(await second.text(), 'begins and ends')
  await first.text()
})

test('a request that cannot be served before its deadline is shed with a 503 without waiting', async () => {
  const held: http.ServerResponse[] = []
  const server = http.createServer((_, response) => held.push(response))
  const guard = protect(server, { lanes: 1, deadlineMs: 60_000, limit: 1 })
  const url = `http://127.0.0.1:${(await listen(server)).port}/`
  const first = fetch(url)
  await eventually('one is in service', () => held.length === 1)
  const startMs = performance.now()
  const { status } = await fetch(url, { headers: { 'x-envoy-expected-rq-timeout-ms': '60' } })
  assert.equal(status, 503)
  assert.ok(performance.now() - startMs < 2000)
  assert.equal(guard.stats().shed.deadline, 1)
  assert.match(guard.explain(), /could not have been answered within its deadline/)
  held[0]!.end()
  assert.equal((await first).status, 200)
})

test('the work is cancelled when the client disconnects', async () => {
  const reason = Promise.withResolvers<unknown>()
  const started = Promise.withResolvers<void>()
  const url = new URL(
    await serve({ deadlineMs: 60_000 }, async () => {
      started.resolve()
      reason.resolve(await rejection(within(30_000, forever)))
    }),
  )
  const socket = connect(Number(url.port), url.hostname)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await started.promise
  socket.destroy()
  const error = await reason.promise
  assert.ok(isMeltproofError(error))
  assert.equal(error.code, 'MELTPROOF_CANCELLED')
  assert.equal(pendingFairTimers(), 0)
})

/** Disconnects once the handler has begun. */
async function leave(url: string, begun: Promise<unknown>): Promise<void> {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await begun
  socket.destroy()
}

test('work that a request started continues after its client has left and its handler has ended', async () => {
  const left: number[] = []
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const url = await serve({ deadlineMs: 60_000 }, async (_, response) => {
    const batch = setInterval(() => left.push(remaining()), 10)
    begun.resolve()
    await once(response, 'close')
    await eventually('cancelled while the handler works', () => left.at(-1) === 0)
    response.end('unread')
    await eventually('no longer limited', () => left.at(-1) === Number.POSITIVE_INFINITY)
    clearInterval(batch)
    ended.resolve()
  })
  await leave(url, begun.promise)
  await ended.promise
})

for (const [end, exempt, ask] of [
  ['its client has left', [], leave],
  ['its 504', [], async (url: string) => assert.equal((await fetch(url)).status, 504)],
  ['the 504 of an exempt path', ['/'], async (url: string) => assert.equal((await fetch(url)).status, 504)],
] as const) {
  test(`work that a silent handler started continues when the deadline has passed again after ${end}`, async () => {
    const left: number[] = []
    const timers: NodeJS.Timeout[] = []
    const begun = Promise.withResolvers<void>()
    const url = await serve({ deadlineMs: 300, exempt }, () => {
      timers.push(setInterval(() => left.push(remaining()), 5))
      begun.resolve()
    })
    await ask(url, begun.promise)
    await eventually('no longer limited', () => left.at(-1) === Number.POSITIVE_INFINITY)
    assert.equal(left.includes(0), true, 'cancelled before')
    for (const timer of timers) clearInterval(timer)
  })
}

test('an earlier 504 by the timeout of a caller does not end the cancellation of the work', async () => {
  const left: number[] = []
  const timers: NodeJS.Timeout[] = []
  const url = await serve({ deadlineMs: 400 }, () => {
    timers.push(setInterval(() => left.push(remaining()), 5))
  })
  assert.equal((await fetch(url, { headers: { 'grpc-timeout': '1m' } })).status, 504)
  await eventually('cancelled at the deadline', () => left.at(-1) === 0)
  await sleep(100)
  assert.equal(left.at(-1), 0)
  for (const timer of timers) clearInterval(timer)
})

test('a handler that fails after its 504 leaves the next request on the connection alone, as Express does it', async () => {
  const app = express()
  let fail: (() => void) | undefined
  app.get('/slow', (_request, _response, next) => {
    fail = () => next(new Error('too late'))
  })
  app.post('/pay', (_, response) => {
    fail!()
    setImmediate(() => response.end('paid'))
  })
  app.set('env', 'test')
  const server = http.createServer(app)
  protect(server, { lanes: 1, deadlineMs: 100 })
  const connection = await (await listen(server)).connect()
  connection.send('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.equal((await connection.answer()).status, 504)
  connection.send('POST /pay HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n')
  assert.equal(String((await connection.answer()).body), 'paid')
})

test('to a handler that begins to stream after its 504, it looks as if the client had left', async () => {
  const seen: string[] = []
  const late = Promise.withResolvers<void>()
  const url = await serve({ deadlineMs: 100 }, async (request, response) => {
    await sleep(200)
    response.on('close', () => seen.push('on'))
    response.once('close', () => seen.push('once'))
    request.once('close', () => seen.push('request'))
    const removed = (): void => void seen.push('removed')
    response.on('close', removed)
    response.off('close', removed)
    assert.equal(request.socket.destroyed, true)
    assert.equal(request.socket.remoteAddress, '127.0.0.1')
    for (const endless of [
      () => Readable.from(chunks()).pipe(response),
      () => void pipeline(chunks(), response).catch(() => {}),
    ]) {
      endless()
    }
    late.resolve()
  })
  let ended = 0
  async function* chunks(): AsyncGenerator<string> {
    try {
      for (;;) {
        await sleep(1)
        yield 'more'
      }
    } finally {
      ended++
    }
  }
  assert.equal((await fetch(url)).status, 504)
  await late.promise
  await eventually('all are told', () => seen.length === 3)
  assert.deepEqual(seen.toSorted(), ['on', 'once', 'request'])
  await eventually('the pipeline has ended its source', () => ended >= 1)
})

test('a handler that has stopped reading the body gets a 504 as well', async () => {
  const url = await serve({ deadlineMs: 100 }, async request => {
    for await (const _ of request) break
  })
  assert.equal((await fetch(url, { method: 'POST', body: 'a body' })).status, 504)
})

test('a pipeline that the deadline aborts does not close the connection under the next request', async () => {
  const server = http.createServer((request, response) => {
    if (request.url === '/next') response.end('served')
    else within(60_000, signal => pipeline(never(), response, { signal })).catch(() => {})
  })
  async function* never(): AsyncGenerator<string> {
    await sleep(60_000, undefined, { ref: false })
    yield 'late'
  }
  protect(server, { lanes: 1, deadlineMs: 100 })
  const connection = await (await listen(server)).connect()
  connection.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.equal((await connection.answer()).status, 504)
  connection.send('GET /next HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.equal(String((await connection.answer()).body), 'served')
})

test('an exception of the handler surfaces as without a deadline', async () => {
  const app = express()
  app.get('/throws', () => {
    throw new Error('from the handler')
  })
  app.get('/slow', async (_, response) => {
    await rejection(within(Number.POSITIVE_INFINITY, forever))
    response.status(500).json({ late: true })
  })
  app.use(((_error, _request, response, _next) => response.status(500).send('handled')) as express.ErrorRequestHandler)
  const url = await serve({ deadlineMs: 120 }, app)
  assert.equal(await (await fetch(`${url}throws`)).text(), 'handled')
  const late = await fetch(`${url}slow`)
  assert.equal(late.status, 504)
  assert.equal(((await late.json()) as { status: number }).status, 504)
  assert.equal(await (await fetch(`${url}throws`)).text(), 'handled')
})

test('after guard.close(), the deadline still answers requests in service, and the server closes', async () => {
  const server = http.createServer(() => {})
  const guard = protect(server, { lanes: 1, deadlineMs: 150 })
  const { port } = await listen(server)
  const answer = fetch(`http://127.0.0.1:${port}/`)
  await once(server, 'request')
  guard.close()
  const closed = new Promise(resolve => server.close(resolve))
  assert.equal((await answer).status, 504)
  await (await answer).text()
  server.closeIdleConnections()
  await closed
  assert.equal(pendingFairTimers(), 0)
})

test('pipelined requests keep their order and their own responses', async () => {
  const server = http.createServer((request, response) => {
    if (request.url !== '/slow') response.end(request.url)
  })
  protect(server, { lanes: 1, deadlineMs: 120 })
  const connection = await (await listen(server)).connect()
  connection.send(['/a', '/slow', '/b'].map(path => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  const answers = [await connection.answer(), await connection.answer(), await connection.answer()]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 504, 200],
  )
  assert.equal(String(answers[2]!.body), '/b')
})

test('options out of range throw', () => {
  const server = http.createServer()
  for (const deadlineMs of [0, -1, Number.NaN, 1e12, '3s'] as number[]) {
    assert.throws(() => protect(server, { deadlineMs }), /deadlineMs must be a number of ms from 1 to 86400000/)
  }
  assert.throws(() => protect(server, { deadlineHeaders: [] }), /given together with deadlineMs/)
  assert.throws(
    () => protect(server, { deadlineMs: 5, trustCallersFrom: ['my proxy'] }),
    /trustCallersFrom\[0\] must be an IP address/,
  )
  assert.throws(
    () => protect(server, { deadlineMs: 5, deadlineHeaders: [{ name: 'host', format: 'grpc' }] }),
    /deadlineHeaders\[0\]/,
  )
})
