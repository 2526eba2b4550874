/** Raw HTTP/2 streams pass the gate, wait, are shed and return their permits like any request. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http from 'node:http'
import http2, {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { type RequestMessage, requests } from '../../src/channels.ts'
import { protect, type ProtectOptions } from '../../src/index.ts'
import type { Guard } from '../../src/server/guard.ts'
import type { RequestPath } from '../../src/server/request-path.ts'
import { type GatedOptions, pathOn, eventually } from './harness.ts'

const servers: Http2Server[] = []
const sessions: ClientHttp2Session[] = []
const sockets: net.Socket[] = []
after(() => {
  for (const session of sessions) session.destroy()
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
})

async function listen(server: Http2Server): Promise<number> {
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

async function sessionWith(server: Http2Server): Promise<ClientHttp2Session> {
  const session = http2.connect(`http://127.0.0.1:${await listen(server)}`)
  sessions.push(session)
  return session
}

/** The streams whose handlers have started, by path. The test answers them. */
class Started {
  readonly paths: string[] = []
  readonly #streams = new Map<string, ServerHttp2Stream>()

  readonly listener = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    const path = headers[':path']!
    this.paths.push(path)
    this.#streams.set(
      path,
      stream.on('error', () => {}),
    )
  }

  async take(path: string): Promise<ServerHttp2Stream> {
    await eventually(`${path} has started`, () => this.#streams.has(path))
    return this.#streams.get(path)!
  }
}

interface Service {
  readonly requestPath: RequestPath
  readonly server: Http2Server
  readonly session: ClientHttp2Session
  readonly started: Started
}

async function open(options: GatedOptions = {}): Promise<Service> {
  const started = new Started()
  const server = http2.createServer()
  const requestPath = pathOn(server as unknown as http.Server, options)
  server.on('stream', started.listener)
  return { requestPath, server, session: await sessionWith(server), started }
}

function ask(session: ClientHttp2Session, path: string, headers: object = {}, body?: string): ClientHttp2Stream {
  const stream = session.request({ ':path': path, ...headers } as never, { endStream: body === undefined })
  stream.on('error', () => {})
  if (body !== undefined) stream.end(body)
  return stream
}

interface Answered {
  readonly headers: IncomingHttpHeaders
  readonly endsAtHead: boolean
  readonly body: string
}

async function answerOf(stream: ClientHttp2Stream): Promise<Answered> {
  let body = ''
  stream.setEncoding('utf8').on('data', chunk => (body += chunk))
  const ended = once(stream, 'end')
  const [headers, flags] = (await once(stream, 'response')) as [IncomingHttpHeaders, number]
  await ended
  return { headers, endsAtHead: (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0, body }
}

/** One request in service, so that the next waits, or is shed with `NOBODY_WAITS`. */
async function fill({ session, started, requestPath }: Service): Promise<ServerHttp2Stream> {
  ask(session, '/first')
  const first = await started.take('/first')
  assert.equal(requestPath.stats().inflight, 1)
  return first
}

const NOBODY_WAITS: GatedOptions = { tuning: { maxWaitMs: 5 } }
const GRPC = { ':method': 'POST', 'content-type': 'application/grpc+proto', te: 'trailers' }

describe('a raw HTTP/2 stream', () => {
  it('holds a permit until the app has ended it', async () => {
    const service = await open()
    const first = await fill(service)
    first.respond({ ':status': 200 })
    first.write('a')
    assert.equal(service.requestPath.stats().inflight, 1)
    first.end()
    await eventually('the permit has ended', () => service.requestPath.stats().inflight === 0)
    assert.equal(service.requestPath.stats().admitted, 1)
  })

  it('waits with its headers and its body, and starts in order', async () => {
    const service = await open()
    const first = await fill(service)
    const client = ask(service.session, '/second', { ':method': 'POST', 'x-kept': 'yes' }, 'the body')
    await eventually('it waits', () => service.requestPath.stats().queued === 1)
    assert.deepEqual(service.started.paths, ['/first'])
    first.respond()
    first.end()
    const second = await service.started.take('/second')
    let body = ''
    for await (const chunk of second) body += chunk
    second.respond()
    second.end(`got ${body} ${second.sentHeaders![':status']}`)
    assert.equal((await answerOf(client)).body, 'got the body 200')
    await eventually('nothing is in service', () => service.requestPath.stats().inflight === 0)
  })

  it('gets the trailers that arrived while it waited', async () => {
    const service = await open()
    const first = await fill(service)
    const client = service.session.request(
      { ':path': '/second', ':method': 'POST' },
      { endStream: false, waitForTrailers: true },
    )
    client.on('wantTrailers', () => client.sendTrailers({ 'x-sum': '42' }))
    const sent = once(client, 'finish')
    client.end('body')
    await eventually('it waits', () => service.requestPath.stats().queued === 1)
    // The server has read the trailers once it has answered a ping that was sent after them.
    await sent
    await new Promise<void>((resolve, reject) => service.session.ping(error => (error ? reject(error) : resolve())))
    let sum: unknown
    service.server.on('stream', stream => stream.on('trailers', trailers => (sum = trailers['x-sum'])))
    first.respond()
    first.end()
    await eventually('the app has them', () => sum === '42')
    client.close()
  })

  it('is not started if its client reset it, with any code, while it waited', async () => {
    const service = await open()
    const first = await fill(service)
    const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = http2.constants
    for (const code of [NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR]) {
      const client = ask(service.session, `/left-${code}`)
      await eventually('it waits', () => service.requestPath.stats().queued === 1)
      client.close(code)
      await eventually('it has left', () => service.requestPath.stats().queued === 0)
    }
    first.respond()
    first.end()
    await eventually('nothing is in service', () => service.requestPath.stats().inflight === 0)
    assert.deepEqual(service.started.paths, ['/first'])
  })

  it('is shed with a 503', async () => {
    const service = await open(NOBODY_WAITS)
    await fill(service)
    const { headers, body } = await answerOf(ask(service.session, '/second'))
    assert.equal(headers[':status'], 503)
    assert.match(String(headers['retry-after']), /^[1-5]$/)
    assert.equal(JSON.parse(body).status, 503)
    const head = await answerOf(ask(service.session, '/second', { ':method': 'HEAD' }))
    assert.equal(head.headers[':status'], 503)
    assert.equal(head.body, '')
    assert.equal(
      (await answerOf(ask(service.session, '/second', { ':method': 'POST' }, 'body'))).headers[':status'],
      503,
    )
    assert.deepEqual(service.started.paths, ['/first'])
  })

  it('is shed over gRPC with UNAVAILABLE and a retry pushback', async () => {
    const service = await open(NOBODY_WAITS)
    await fill(service)
    const { headers, endsAtHead, body } = await answerOf(ask(service.session, '/a.B/C', GRPC, 'message'))
    assert.equal(headers[':status'], 200)
    assert.equal(headers['grpc-status'], '14')
    assert.match(String(headers['grpc-message']), /is overloaded/)
    const pushbackMs = Number(headers['grpc-retry-pushback-ms'])
    assert.ok(pushbackMs >= 1000 && pushbackMs < 6000, String(pushbackMs))
    assert.ok(endsAtHead)
    assert.equal(body, '')
    assert.equal(service.requestPath.stats().shed.late, 1)
  })

  /** An upload whose handler has got a message, and whose permit another request has taken meanwhile. */
  async function overtakenUpload(headers: object): Promise<{ upload: ClientHttp2Stream; stream: ServerHttp2Stream }> {
    const service = await open({ tuning: { maxWaitMs: 100 } })
    const upload = service.session.request({ ':path': '/upload', ...headers } as never, { endStream: false })
    upload.on('error', () => {}).write('a message')
    const stream = await service.started.take('/upload')
    stream.resume().on('end', () => {})
    ask(service.session, '/other')
    await service.started.take('/other')
    return { upload, stream }
  }

  it('is shed over gRPC without a retry if its handler has got messages', { timeout: 30_000 }, async () => {
    const { upload } = await overtakenUpload(GRPC)
    upload.end()
    const { headers } = await answerOf(upload)
    assert.deepEqual([headers['grpc-status'], headers['grpc-retry-pushback-ms']], ['14', '-1'])
    assert.match(String(headers['grpc-message']), /may have been carried out/)
  })

  it('closes if its client resets an upload without an error', { timeout: 30_000 }, async () => {
    const { upload, stream } = await overtakenUpload({ ':method': 'POST' })
    upload.close(http2.constants.NGHTTP2_NO_ERROR)
    await once(stream, 'close')
  })

  it('keeps its permit while the app works on after its client cancelled it', async () => {
    const service = await open()
    const client = ask(service.session, '/first')
    const first = await service.started.take('/first')
    client.close(http2.constants.NGHTTP2_CANCEL)
    await once(first, 'close')
    await eventually('it is abandoned', () => service.requestPath.stats().abandoned === 1)
    assert.equal(service.requestPath.stats().inflight, 1)
    first.end()
    assert.equal(service.requestPath.stats().inflight, 0)
  })

  it('keeps its permit while the app works on after its connection was closed or reset', async () => {
    for (const leave of [(socket: net.Socket) => socket.destroy(), (socket: net.Socket) => socket.resetAndDestroy()]) {
      const started = new Started()
      const server = http2.createServer()
      server.on('stream', started.listener).on('sessionError', () => {})
      const requestPath = pathOn(server as unknown as http.Server)
      const socket = net.connect(await listen(server), '127.0.0.1')
      const session = http2.connect('http://127.0.0.1', { createConnection: () => socket })
      sessions.push(session.on('error', () => {}))
      ask(session, '/first')
      const first = await started.take('/first')
      leave(socket)
      await eventually('it is abandoned', () => requestPath.stats().abandoned === 1)
      assert.equal(requestPath.stats().inflight, 1)
      first.end()
      assert.equal(requestPath.stats().inflight, 0)
    }
  })

  it('returns its permit when the app closes, destroys or answers it with a 204', async () => {
    const service = await open()
    for (const end of [
      (stream: ServerHttp2Stream) => stream.close(http2.constants.NGHTTP2_REFUSED_STREAM),
      (stream: ServerHttp2Stream) => stream.destroy(new Error('on purpose')),
      (stream: ServerHttp2Stream) => stream.respond({ ':status': 204 }),
    ]) {
      const path = `/${service.started.paths.length}`
      ask(service.session, path)
      end(await service.started.take(path))
      await eventually('nothing is in service', () => service.requestPath.stats().inflight === 0)
      assert.equal(service.requestPath.stats().abandoned, 0)
    }
  })

  it('returns its permit when its upload is cut off while it is read', async () => {
    const service = await open()
    const client = service.session.request({ ':path': '/first', ':method': 'POST' }, { endStream: false })
    client.on('error', () => {})
    client.write('some of it')
    const first = await service.started.take('/first')
    let abandoned = -1
    first.on('close', () => (abandoned = service.requestPath.stats().abandoned)).on('data', () => {})
    service.session.destroy()
    await eventually('it is closed', () => abandoned >= 0)
    assert.deepEqual([service.requestPath.stats().inflight, abandoned], [0, 0])
  })

  it('is exempt by its path, and given to a policy with the properties of a node:http request', async () => {
    const asked: unknown[] = []
    const service = await open({
      ...NOBODY_WAITS,
      policy: {
        exemptUrl: url => url === '/grpc.health.v1.Health/Check',
        exemptRequest: ({ method, url, headers, httpVersion, socket }) => {
          asked.push([method, url, headers['x-who'], httpVersion, socket.remoteAddress, 'encrypted' in socket])
          return false
        },
      },
    })
    await fill(service)
    ask(service.session, '/grpc.health.v1.Health/Check', GRPC, '')
    await service.started.take('/grpc.health.v1.Health/Check')
    assert.equal(service.requestPath.stats().exempt, 1)
    await answerOf(ask(service.session, '/second', { 'x-who': 'me' }))
    assert.deepEqual(asked.at(-1), ['GET', '/second', 'me', '2.0', '127.0.0.1', false])
  })

  it('is started when meltproof steps aside', async () => {
    const service = await open()
    await fill(service)
    const client = ask(service.session, '/second')
    await eventually('it waits', () => service.requestPath.stats().queued === 1)
    service.requestPath.processGate.failOpen.open()
    const second = await service.started.take('/second')
    second.respond()
    second.end('late')
    assert.equal((await answerOf(client)).body, 'late')
  })

  it('takes one permit on a server that also listens for requests', async () => {
    const server = http2.createServer((_request, response) => response.end('by request'))
    const requestPath = pathOn(server as unknown as http.Server)
    server.on('stream', () => {})
    const session = await sessionWith(server)
    assert.equal((await answerOf(ask(session, '/'))).body, 'by request')
    await eventually('nothing is in service', () => requestPath.stats().inflight === 0)
    assert.equal(requestPath.stats().admitted, 1)
  })

  it('is passed on without a permit if the app emits it again', async () => {
    const service = await open(NOBODY_WAITS)
    const { server, session, started } = service
    ask(session, '/first')
    const first = await started.take('/first')
    server.emit('stream', first, { ':path': '/again' }, 0, [])
    await started.take('/again')
    assert.deepEqual([service.requestPath.stats().admitted, service.requestPath.stats().inflight], [1, 1])
    first.respond()
    first.end()
    await eventually('nothing is in service', () => service.requestPath.stats().inflight === 0)
  })

  it('is not counted on a server without a listener for it', async () => {
    const server = http2.createServer()
    const requestPath = pathOn(server as unknown as http.Server)
    const session = await sessionWith(server)
    let came = false
    server.on('session', opened => opened.on('stream', () => (came = true)))
    const client = ask(session, '/')
    await eventually('it has come', () => came)
    assert.deepEqual([requestPath.stats().admitted, requestPath.stats().inflight], [0, 0])
    client.close()
  })

  it('is passed on without a permit if it is a CONNECT tunnel', async () => {
    const service = await open(NOBODY_WAITS)
    await fill(service)
    const client = service.session.request({ ':method': 'CONNECT', ':authority': 'there:443' } as never)
    client.on('error', () => {})
    await eventually('it has started', () => service.started.paths.length === 2)
    client.close()
  })

  it('starts in a dry run, and is counted as if it had been shed', async () => {
    const server = http2.createServer()
    const guard = protect(server, { lanes: 1, dryRun: true, limit: 1 })
    const started = new Started()
    server.on('stream', started.listener)
    const session = await sessionWith(server)
    for (const path of ['/1', '/2', '/3']) ask(session, path)
    for (const path of ['/1', '/2', '/3']) await started.take(path)
    assert.equal(guard.stats().dryRun, true)
    await eventually('it would have been shed', () => guard.stats().shed.late + guard.stats().shed.stale > 0)
  })
})

describe('an observer of raw streams', () => {
  it('gets a record of each, as of any request', async () => {
    const service = await open()
    const messages: RequestMessage[] = []
    const keep = (message: RequestMessage): void => void messages.push(message)
    requests.subscribe(keep)
    try {
      const client = ask(service.session, '/observed', { ':method': 'POST', 'user-agent': 'test' }, 'body')
      const stream = await service.started.take('/observed')
      stream.respond({ ':status': 201 })
      stream.write('four')
      stream.end('five!')
      await answerOf(client)
      await eventually('the request is published', () => messages.length > 0)
    } finally {
      requests.unsubscribe(keep)
    }
    const { record, request } = messages[0]!
    const { method, url, status, outcome, bytes } = record
    assert.deepEqual(
      { method, url, status, outcome, bytes },
      { method: 'POST', url: '/observed', status: 201, outcome: 'answered', bytes: 9 },
    )
    service.session.destroy()
    await eventually('the session has ended', () => service.session.destroyed)
    assert.deepEqual(
      [request.socket.remoteAddress, request.headers['user-agent'], request.httpVersion],
      ['127.0.0.1', 'test', '2.0'],
    )
  })

  for (const [when, status] of [
    ['before the response head', 0],
    ['amid the response body', 200],
  ] as const) {
    it(`sees as aborted a client that disconnects ${when}`, async () => {
      const service = await open()
      const messages: RequestMessage[] = []
      const keep = (message: RequestMessage): void => void messages.push(message)
      requests.subscribe(keep)
      try {
        const client = ask(service.session, '/left')
        const stream = await service.started.take('/left')
        if (status !== 0) stream.respond({ ':status': status })
        client.close(http2.constants.NGHTTP2_CANCEL)
        await eventually('the request is published', () => messages.length > 0)
      } finally {
        requests.unsubscribe(keep)
      }
      assert.deepEqual([messages[0]!.record.status, messages[0]!.record.outcome], [status, 'aborted'])
    })
  }
})

async function deadlineServer(
  options: ProtectOptions,
): Promise<{ guard: Guard; session: ClientHttp2Session; started: Started }> {
  const server = http2.createServer()
  const guard = protect(server, { lanes: 1, ...options })
  const started = new Started()
  server.on('stream', started.listener)
  return { guard, session: await sessionWith(server), started }
}

describe('the deadline of a raw stream', () => {
  it('gives a 504, after which the app may still write', async () => {
    const { guard, session, started } = await deadlineServer({ deadlineMs: 30 })
    const client = ask(session, '/')
    const stream = await started.take('/')
    const closed = once(stream, 'close')
    assert.equal((await answerOf(client)).headers[':status'], 504)
    await closed
    assert.deepEqual([guard.stats().inflight, guard.stats().abandoned], [1, 1])
    stream.respond({ ':status': 200 })
    stream.write('too late')
    stream.end('really')
    assert.equal(guard.stats().inflight, 0)
  })

  it('gives DEADLINE_EXCEEDED to a gRPC call', async () => {
    const { session } = await deadlineServer({ deadlineMs: 30 })
    const { headers, endsAtHead } = await answerOf(ask(session, '/a.B/C', GRPC, ''))
    assert.deepEqual([headers[':status'], headers['grpc-status'], endsAtHead], [200, '4', true])
  })

  it('is shortened by grpc-timeout, never lengthened', async () => {
    const { session } = await deadlineServer({ deadlineMs: 20_000 })
    const sooner = await answerOf(ask(session, '/a.B/C', { ...GRPC, 'grpc-timeout': '30m' }, ''))
    assert.equal(sooner.headers['grpc-status'], '4')
    const { session: other } = await deadlineServer({ deadlineMs: 30 })
    const no = await answerOf(ask(other, '/a.B/C', { ...GRPC, 'grpc-timeout': '1H' }, ''))
    assert.equal(no.headers['grpc-status'], '4')
  })
})

const frame = (type: number, flags: number, id: number, body: Buffer = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(body.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(id, 5)
  return Buffer.concat([head, body])
}
const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)])
/** GET http://x/ in HPACK. */
const GET = Buffer.from([0x82, 0x86, 0x84, 0x41, 1, 0x78])
const [HEADERS, RST_STREAM] = [1, 3]
const [END_STREAM, END_HEADERS] = [1, 4]
const CANCEL = Buffer.from([0, 0, 0, 8])

describe('thousands of streams that are opened and reset at once', () => {
  for (const takes of ['stream', 'request'] as const) {
    it(`leave no request counted on a server that takes '${takes}' events`, async () => {
      let served = 0
      const server = http2.createServer()
      const requestPath = pathOn(server as unknown as http.Server, { limit: 4 })
      if (takes === 'stream') {
        server.on('stream', stream => {
          served++
          stream.respond()
          stream.end('ok')
        })
      } else {
        server.on('request', (_request, response) => {
          served++
          response.end('ok')
        })
      }
      const port = await listen(server)
      for (let round = 0; round < 4; round++) {
        const socket = net.connect(port, '127.0.0.1')
        sockets.push(socket)
        socket.on('error', () => {})
        const frames = Array.from({ length: 500 }, (_, index) => [
          frame(HEADERS, END_HEADERS | (index % 2 === 0 ? END_STREAM : 0), 2 * index + 1, GET),
          frame(RST_STREAM, 0, 2 * index + 1, CANCEL),
        ])
        socket.write(Buffer.concat([PREFACE, ...frames.flat()]))
        socket.resume()
      }
      await eventually('some were served', () => served > 0)
      const session = http2.connect(`http://127.0.0.1:${port}`)
      sessions.push(session)
      assert.equal((await answerOf(ask(session, '/'))).body, 'ok')
      await eventually('nothing is in service and nothing waits', () => {
        const { inflight, queued, abandoned } = requestPath.stats()
        return inflight + queued + abandoned === 0
      })
    })
  }
})
