/** The engine over HTTP/2, against node:http2: the same accounting, failures and limits as over HTTP/1.1. */
import assert from 'node:assert/strict'
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { createServer as createTls, type TlsOptions } from 'node:tls'
import { describe, it } from 'node:test'
import type { LoadOutcome, LoadPlan } from '../../src/load/plan.ts'
import { runLoad } from '../../src/load/run.ts'
import { AUTHORITY, SERVER } from './certificates.ts'
import {
  booksBalance,
  constant,
  http2Server,
  httpServer,
  PATIENT,
  planFor,
  rawServer,
  type TestServer,
  total,
} from './servers.ts'

const against = async (server: TestServer, plan: Partial<LoadPlan> = {}): Promise<LoadOutcome> => {
  try {
    const outcome = await runLoad(
      planFor(server.url, { http2: { streams: 10 }, arrival: constant(200, 250), ...PATIENT, ...plan }),
    )
    booksBalance(outcome)
    return outcome
  } finally {
    await server.close()
  }
}

const answer = (stream: ServerHttp2Stream, status = 200): void => {
  stream.respond({ ':status': status })
  stream.end('ok')
}

/** Counts the sessions of a server, and its maximum of concurrent streams: in all, and on one session. */
const watched = () => {
  const bySession = new Map<ServerHttp2Session, number>()
  let open = 0
  const seen = { sessions: 0, most: 0, mostOnOne: 0 }
  const took = (stream: ServerHttp2Stream): void => {
    const session = stream.session as ServerHttp2Session
    const one = (bySession.get(session) ?? 0) + 1
    bySession.set(session, one)
    open++
    seen.sessions = bySession.size
    seen.most = Math.max(seen.most, open)
    seen.mostOnOne = Math.max(seen.mostOnOne, one)
    stream.on('close', () => {
      open--
      bySession.set(session, bySession.get(session)! - 1)
    })
  }
  return { seen, took }
}

describe('runLoad over HTTP/2: responses', () => {
  it('counts responses by status, and the bytes of bodies', async () => {
    let n = 0
    const statuses = [200, 301, 404, 500, 503]
    const { answered, failed, good, bodyBytes, bytesRead, sendLag } = await against(
      await http2Server(stream => answer(stream, statuses[n++ % 5])),
    )
    assert.deepEqual(answered, { 200: 10, 301: 10, 404: 10, 500: 10, 503: 10 })
    assert.deepEqual(failed, {})
    assert.deepEqual([good, bodyBytes, sendLag.count], [20, 100, 50])
    assert.ok(bytesRead > 50 * 2 * 9, `${bytesRead} bytes`)
  })

  it('sends method, headers and body, with template fields filled in', async () => {
    const seen: string[] = []
    const server = await http2Server((stream, headers) => {
      let body = ''
      stream.setEncoding('utf8').on('data', text => {
        body += text
      })
      stream.on('end', () => {
        const { ':method': method, ':path': path, ':authority': authority, 'x-tide': tide } = headers
        seen.push(`${method} ${path} ${authority} ${tide} ${headers['content-length']} ${body}`)
        answer(stream)
      })
    })
    await against(server, {
      url: `${server.url}a?b={{seq}}`,
      method: 'PUT',
      headers: { 'X-Tide': ['high', '{{turn 1}}'] },
      body: 'größe {{seq}}',
      templated: true,
      arrival: constant(10, 200),
    })
    const authority = `127.0.0.1:${server.port}`
    assert.deepEqual(seen, [
      `PUT /a?b=0 ${authority} high, 000000000 9 größe 0`,
      `PUT /a?b=1 ${authority} high, 000000001 9 größe 1`,
    ])
  })

  it('verifies the certificate of a TLS server', async () => {
    const secure = { ...SERVER, ALPNProtocols: ['h2'] }
    const arrival = constant(20, 200)
    const trusted = await against(await http2Server(answer_, secure), { tls: { ca: AUTHORITY }, arrival })
    assert.deepEqual(trusted.answered, { 200: 4 })
    const unknown = await against(await http2Server(answer_, secure), { arrival })
    assert.equal(unknown.failed.other, 4)
    assert.match(unknown.why.join(' '), /unable to verify|self-signed|issuer/)
  })

  it('accepts a response without a body, and one that comes before the request body was read', async () => {
    const server = await http2Server((stream, headers) => {
      if (headers[':method'] === 'HEAD') stream.respond({ ':status': 200, 'content-length': 5 }, { endStream: true })
      else answer(stream)
    })
    const others = [{ url: server.url, method: 'POST', headers: {}, body: new Uint8Array(300_000) }]
    const { answered } = await against(server, { method: 'HEAD', others, arrival: constant(40, 500) })
    assert.deepEqual(answered, { 200: 20 })
  })

  it('counts latency from the time at which a request was due, including a stall of the server', async () => {
    let stalled = false
    const { okLatency } = await against(
      await http2Server(stream => {
        if (!stalled) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
        stalled = true
        answer(stream)
      }),
      { connections: { kind: 'keep-alive', count: 1, max: 1 }, http2: { streams: 100 }, arrival: constant(100, 500) },
    )
    assert.ok(okLatency.percentile(50) > 150, `p50 ${okLatency.percentile(50)} ms`)
  })
})

const answer_ = (stream: ServerHttp2Stream): void => answer(stream)

/** SETTINGS_MAX_CONCURRENT_STREAMS = 1 (RFC 9113 section 6.5.2). */
const ONE_STREAM = Buffer.from('000006040000000000000300000001', 'hex')

/** HEADERS that end a stream, `:status: 200`. */
function okFor(id: number): Buffer {
  const frame = Buffer.from('00000101050000000088', 'hex')
  frame.writeUInt32BE(id, 5)
  return frame
}

/** Calls `listener` with the id of each stream that a client opens. Sends no answer. */
function onHeaders(socket: Socket, listener: (id: number) => void): void {
  let bytes = Buffer.alloc(0)
  let from = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length
  socket.on('data', data => {
    bytes = Buffer.concat([bytes, data])
    while (bytes.length >= from + 9) {
      const [type, id] = [bytes[from + 3], bytes.readUInt32BE(from + 5)]
      const end = from + 9 + bytes.readUIntBE(from, 3)
      if (bytes.length < end) return
      from = end
      if (type === 1) listener(id)
    }
  })
}

describe('runLoad over HTTP/2: connections', () => {
  it('opens at most the configured streams and connections, and reports that requests waited', async () => {
    const { seen, took } = watched()
    const { answered, why, certificate } = await against(
      await http2Server(stream => {
        took(stream)
        setTimeout(() => stream.destroyed || answer(stream), 60)
      }),
      { connections: { kind: 'keep-alive', count: 2, max: 2 }, http2: { streams: 3 }, arrival: constant(200, 400) },
    )
    assert.deepEqual(seen, { sessions: 2, most: 6, mostOnOne: 3 })
    assert.deepEqual(answered, { 200: 80 })
    assert.notEqual(certificate.code, 'certified')
    assert.match(why.join(' '), /requests waited for one of 6 streams on 2 connections/)
  })

  it('opens no more streams on a connection than its server allows', async () => {
    const { seen, took } = watched()
    const { answered, failed } = await against(
      await http2Server(
        stream => {
          took(stream)
          setTimeout(() => stream.destroyed || answer(stream), 40)
        },
        { settings: { maxConcurrentStreams: 2 } },
      ),
      { connections: { kind: 'keep-alive', count: 1, max: 3 }, http2: { streams: 50 }, arrival: constant(200, 300) },
    )
    assert.deepEqual([answered, failed], [{ 200: 60 }, {}])
    assert.deepEqual(seen, { sessions: 3, most: 6, mostOnOne: 2 })
  })

  it("opens one stream on a new connection, and no second before the server's SETTINGS frame", async () => {
    const came: string[] = []
    const server = await rawServer(socket => {
      onHeaders(socket, id => {
        came.push('headers')
        if (came.length > 1) {
          socket.write(okFor(id))
          return
        }
        // All 20 requests are due before this.
        setTimeout(() => {
          came.push('settings')
          socket.write(Buffer.concat([ONE_STREAM, okFor(id)]))
        }, 300)
      })
    })
    const { answered, failed } = await against(server, {
      connections: { kind: 'keep-alive', count: 1, max: 1 },
      arrival: constant(100, 200),
    })
    assert.deepEqual(came, ['headers', 'settings', ...Array<string>(19).fill('headers')])
    assert.deepEqual([answered, failed], [{ 200: 20 }, {}])
  })

  it('uses a new connection for each request in fresh mode', async () => {
    const { seen, took } = watched()
    const { answered, failed } = await against(
      await http2Server(stream => {
        took(stream)
        answer(stream)
      }),
      { connections: { kind: 'fresh' }, arrival: constant(100, 200) },
    )
    assert.deepEqual([answered, failed, seen.sessions], [{ 200: 20 }, {}, 20])
  })

  it('opens a new connection after a GOAWAY frame, and loses only refused requests', async () => {
    const { seen, took } = watched()
    let n = 0
    const { answered, failed } = await against(
      await http2Server(stream => {
        took(stream)
        if (n++ % 10 === 0) stream.session!.close()
        answer(stream)
      }),
      { connections: { kind: 'keep-alive', count: 2, max: 5 }, arrival: constant(100, 500) },
    )
    // A request that crosses the GOAWAY is refused, and counted as refused.
    assert.deepEqual(Object.keys({ refused: 0, ...failed }), ['refused'])
    assert.ok(answered['200']! > 5, JSON.stringify(answered))
    assert.ok(seen.sessions > 2, `${seen.sessions} connections`)
  })

  it('sends one request at a time for each closed-loop user', async () => {
    const { seen, took } = watched()
    const outcome = await against(
      await http2Server(stream => {
        took(stream)
        setTimeout(() => stream.destroyed || answer(stream), 20)
      }),
      {
        arrival: { kind: 'closed', users: 6, durationMs: 300, thinkMs: 0 },
        connections: { kind: 'keep-alive', count: 2, max: 2 },
      },
    )
    assert.deepEqual([seen.most, seen.sessions], [6, 2])
    assert.equal(total(outcome.answered), outcome.sent)
  })
})

describe('runLoad over HTTP/2: failures', () => {
  const { NGHTTP2_REFUSED_STREAM, NGHTTP2_INTERNAL_ERROR, NGHTTP2_HTTP_1_1_REQUIRED, NGHTTP2_ENHANCE_YOUR_CALM } =
    constants
  const acts: readonly [path: string, act: (stream: ServerHttp2Stream) => unknown, code: string][] = [
    ['refused', stream => stream.close(NGHTTP2_REFUSED_STREAM), 'refused'],
    ['reset', stream => stream.close(NGHTTP2_INTERNAL_ERROR), 'reset'],
    [
      'reset-in-the-middle',
      stream => {
        stream.respond({ ':status': 200 })
        stream.write('half', () => stream.destroy(new Error('half')))
      },
      'reset',
    ],
    [
      'shorter-than-its-length',
      stream => {
        stream.respond({ ':status': 200, 'content-length': 9 })
        stream.end('half')
      },
      'malformed',
    ],
    ['wants-http1', stream => stream.close(NGHTTP2_HTTP_1_1_REQUIRED), 'other'],
  ]
  it('counts failures of a stream as refused, reset, malformed or other', async () => {
    const server = await http2Server((stream, headers) => {
      acts.find(([path]) => headers[':path'] === `/${path}`)![1](stream)
    })
    const [first, ...others] = acts.map(([path]) => ({
      url: `${server.url}${path}`,
      method: 'GET',
      headers: {},
      body: undefined,
    }))
    const outcome = await against(server, {
      ...first!,
      others,
      arrival: constant(acts.length * 20, 200),
    })
    assert.deepEqual(
      outcome.targets.map(({ failed }) => failed),
      acts.map(([, , code]) => ({ [code]: 4 })),
    )
    assert.match(outcome.why.join(' '), /4 answers broke HTTP: a stream ended with NGHTTP2_PROTOCOL_ERROR/)
    assert.match(outcome.why.join(' '), /4 requests failed: the server asks for HTTP\/1\.1/)
  })

  it('counts requests as reset if their connection is closed or gets GOAWAY with an error', async () => {
    for (const act of [
      (session: ServerHttp2Session) => session.destroy(),
      (session: ServerHttp2Session) => session.goaway(NGHTTP2_ENHANCE_YOUR_CALM),
    ]) {
      const server = await http2Server(stream => act(stream.session as ServerHttp2Session))
      assert.deepEqual((await against(server, { arrival: constant(40, 200) })).failed, { reset: 8 })
    }
  })

  it('keeps using a connection after a request on it timed out', async () => {
    const { seen, took } = watched()
    let n = 0
    const outcome = await against(
      await http2Server(stream => {
        took(stream)
        if (n++ % 2 === 0) answer(stream)
      }),
      {
        connections: { kind: 'keep-alive', count: 1, max: 1 },
        timeoutMs: 250,
        // Each request is sent after the one before has ended.
        arrival: { kind: 'closed', users: 1, durationMs: 2000, thinkMs: 0 },
      },
    )
    assert.deepEqual(Object.keys(outcome.failed), ['response-timeout'])
    assert.ok(outcome.failed['response-timeout']! >= 2 && outcome.answered['200']! >= 2, JSON.stringify(outcome))
    assert.equal(seen.sessions, 1)
  })

  it('counts requests to a server that speaks only HTTP/1 as malformed, and gives the reason', async () => {
    const plain = await against(await httpServer((_, res) => res.end('ok')), { arrival: constant(40, 250) })
    assert.deepEqual(plain.failed, { malformed: 10 })
    assert.match(plain.why.join(' '), /10 answers broke HTTP: no valid HTTP\/2/)
    // A server without ALPN.
    const tls = createTls(SERVER as TlsOptions, socket => socket.on('error', () => {}))
    await new Promise<void>(resolve => tls.listen(0, '127.0.0.1', resolve))
    const { port } = tls.address() as { port: number }
    const secure = await runLoad(
      planFor(`https://127.0.0.1:${port}/`, {
        http2: { streams: 10 },
        tls: { ca: AUTHORITY },
        arrival: constant(40, 250),
      }),
    )
    tls.close()
    assert.deepEqual(secure.failed, { malformed: 10 })
    assert.match(secure.why.join(' '), /the server does not offer HTTP\/2 \(h2\) over TLS/)
  })

  it('counts responses that are not HTTP/2 as malformed', async () => {
    const server = await rawServer(socket => socket.on('data', () => socket.write('\x00 garbage\n'.repeat(20))))
    const { failed, why } = await against(server, { arrival: constant(40, 250) })
    assert.deepEqual(failed, { malformed: 10 }, why.join(' '))
  })

  it('ends at once when aborted', async () => {
    const server = await http2Server(() => {})
    const abort = new AbortController()
    const plan = planFor(server.url, { http2: { streams: 10 }, arrival: constant(100, 60_000), timeoutMs: 30_000 })
    const outcome = await runLoad(plan, { signal: abort.signal, onProgress: () => abort.abort() })
    await server.close()
    booksBalance(outcome)
    assert.deepEqual(Object.keys(outcome.failed), ['aborted'])
  })

  it('refuses headers and settings that HTTP/2 does not allow before sending anything', async () => {
    const http2 = { streams: 10 }
    await assert.rejects(
      runLoad(planFor('http://127.0.0.1:1/', { http2, headers: { TE: 'gzip' } })),
      /TE does not exist/,
    )
    await assert.rejects(runLoad(planFor('http://127.0.0.1:1/', { http2: { streams: 0 } })), /streams must be/)
  })
})
