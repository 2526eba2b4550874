/** HTTP/2 through its compatibility API: meltproof's own responses cause no warning of Node. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http from 'node:http'
import http2, { type ClientHttp2Session, type Http2Server, type IncomingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type RequestMessage, requests } from '../../src/channels.ts'
import { protect, type ProtectOptions } from '../../src/index.ts'
import { pathOn, eventually } from './harness.ts'

const servers: Http2Server[] = []
const sessions: ClientHttp2Session[] = []
const warnings: string[] = []
const onWarning = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`)
process.on('warning', onWarning)
after(() => {
  process.off('warning', onWarning)
  for (const session of sessions) session.destroy()
  for (const server of servers) server.close()
})

async function serve(options: ProtectOptions, listener: Parameters<typeof http2.createServer>[1]) {
  const server = http2.createServer(listener as never)
  const guard = protect(server, { lanes: 1, ...options })
  return { guard, session: await sessionWith(server) }
}

async function sessionWith(server: Http2Server): Promise<ClientHttp2Session> {
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  sessions.push(session)
  return session
}

interface Answered {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

async function ask(session: ClientHttp2Session, headers: object, body?: Buffer): Promise<Answered> {
  const stream = session.request({ ':path': '/', ...headers } as never, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  let text = ''
  stream.setEncoding('utf8').on('data', chunk => (text += chunk))
  const ended = once(stream, 'end')
  const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  await ended
  return { status: Number(head[':status']), headers: head, body: text }
}

/** Node emits warnings on a later tick. */
async function assertNoWarning(): Promise<void> {
  await turn()
  assert.deepEqual(warnings, [])
}

const REQUESTS: Readonly<Record<string, [headers: object, body?: Buffer]>> = {
  'a GET': [{ ':method': 'GET' }],
  'a HEAD': [{ ':method': 'HEAD' }],
  'a browser': [{ ':method': 'GET', accept: 'text/html' }],
  'an upload': [{ ':method': 'POST' }, Buffer.alloc(60_000)],
  'one that expects 100-continue': [{ ':method': 'POST', expect: '100-continue' }, Buffer.alloc(10)],
}

describe('over HTTP/2', () => {
  for (const [what, [headers, body]] of Object.entries(REQUESTS)) {
    it(`${what} is shed without a warning`, async () => {
      const server = http2.createServer(() => {})
      const requestPath = pathOn(server as unknown as http.Server, { limit: 1, tuning: { maxWaitMs: 10 } })
      const session = await sessionWith(server)
      session.request({ ':path': '/held' }).on('error', () => {})
      await eventually('one is in service', () => requestPath.stats().inflight === 1)
      const answer = await ask(session, headers, body)
      assert.equal(answer.status, 503)
      assert.equal(answer.body.length > 0, what !== 'a HEAD')
      await assertNoWarning()
    })

    it(`${what} is answered 504 without a warning`, async () => {
      const { session } = await serve({ deadlineMs: 40 }, (_request, response) => {
        // A proxy copies headers from upstream.
        response.setHeader('x-request-id', '7')
      })
      const answer = await ask(session, headers, body)
      assert.equal(answer.status, 504)
      assert.equal(answer.headers['x-request-id'], '7')
      assert.equal(answer.body.length > 0, what !== 'a HEAD')
      await assertNoWarning()
    })
  }

  it('what a handler writes after its 504 is ignored without a warning', async () => {
    const done = Promise.withResolvers<void>()
    const { session } = await serve({ deadlineMs: 40 }, (_request, response) => {
      response.on('finish', () => {
        response.setHeader('x-late', '1')
        response.writeHead(200, { 'content-type': 'text/plain' })
        response.write('too late')
        response.end('really', () => done.resolve())
      })
    })
    assert.equal((await ask(session, {})).status, 504)
    await done.promise
    await assertNoWarning()
  })

  it('a client that disconnects before its response is recorded as aborted', async () => {
    const messages: RequestMessage[] = []
    const keep = (message: RequestMessage): void => void messages.push(message)
    requests.subscribe(keep)
    try {
      const begun = Promise.withResolvers<void>()
      const { session } = await serve({}, () => begun.resolve())
      const stream = session.request({ ':path': '/left' })
      await begun.promise
      stream.close(http2.constants.NGHTTP2_CANCEL)
      await eventually('the request is published', () => messages.length > 0)
    } finally {
      requests.unsubscribe(keep)
    }
    assert.deepEqual([messages[0]!.record.status, messages[0]!.record.outcome], [0, 'aborted'])
  })

  it('a draining server answers without a warning', async () => {
    const { session, guard } = await serve({ drainDelayMs: 200, readiness: '/ready' }, (_request, response) =>
      response.end('ok'),
    )
    assert.equal((await ask(session, { ':path': '/ready' })).status, 200)
    const drained = guard.drain(1000)
    const stream = session.request({ ':path': '/' })
    stream.resume()
    await once(stream, 'close')
    await assertNoWarning()
    session.close()
    await drained
  })

  it('a drain does not wait for a body whose client reset the stream with NO_ERROR', async () => {
    const server = http2.createServer()
    let upload: http2.ServerHttp2Stream | undefined
    server.on('stream', stream => {
      upload = stream.on('data', () => {}).pause() as http2.ServerHttp2Stream
      stream.respond({ ':status': 200 })
    })
    const guard = protect(server, { lanes: 1, drainDelayMs: 0 })
    const stream = (await sessionWith(server)).request({ ':method': 'POST' }, { endStream: false }).resume()
    await once(stream, 'response')
    stream.write('a part')
    await eventually('it is there', () => upload!.readableLength > 0)
    stream.close(http2.constants.NGHTTP2_NO_ERROR)
    await eventually('it is known', () => upload!.closed)
    assert.equal(await guard.drain(60_000), true)
  })

  it('a drain sends GOAWAY, even if the app has closed the server itself', async () => {
    const server = http2.createServer((_request, response) => response.end('ok'))
    const guard = protect(server, { lanes: 1, drainDelayMs: 0 })
    const session = await sessionWith(server)
    await ask(session, {})
    const told = once(session, 'goaway')
    server.close()
    const drained = guard.drain(60_000)
    await told
    assert.equal(await drained, true)
  })

  it('a drain does not wait for a client that never closes its stream', async () => {
    const server = http2.createServer((_request, response) => response.end('ok'))
    const guard = protect(server, { lanes: 1, drainDelayMs: 0 })
    const session = await sessionWith(server)
    // The client never reads the response, so its stream stays open.
    await once(session.request({ ':path': '/' }), 'response')
    assert.equal(await guard.drain(60_000), true)
  })
})
