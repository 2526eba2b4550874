/** The engine against real sockets: accounting, failures, abort. Connections: connections.test.ts; closed loops: ../measures. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import type { LoadPlan } from '../../src/load/plan.ts'
import { explain, failureOf } from '../../src/load/failure.ts'
import { runLoad } from '../../src/load/run.ts'
import { blackhole } from './blackhole.ts'
import {
  against,
  booksBalance,
  closedPort,
  constant,
  httpServer,
  PATIENT,
  planFor,
  rawServer,
  SILENCE_MS,
} from './servers.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

const KEEP_ALIVE = { kind: 'keep-alive', count: 10, max: 500 } as const
const FRESH = { kind: 'fresh' } as const

// These tests mostly wait, so they can run concurrently.
const TOGETHER = { concurrency: 6 }

describe('runLoad: responses', TOGETHER, () => {
  it('counts responses by status, and keeps sheds and errors out of the latency of successes', async () => {
    let n = 0
    const statuses = [200, 301, 404, 500, 503]
    const server = await httpServer((_, res) => {
      res.statusCode = statuses[n++ % 5]!
      res.end('x')
    })
    const outcome = await against(server)
    assert.deepEqual(outcome.answered, { 200: 20, 301: 20, 404: 20, 500: 20, 503: 20 })
    assert.deepEqual(outcome.failed, {})
    assert.equal(outcome.scheduled, 100)
    assert.equal(outcome.good, 40)
    assert.equal(outcome.okLatency.count, 40)
    assert.equal(outcome.shedLatency.count, 20)
    assert.equal(outcome.otherLatency.count, 40)
    assert.ok(outcome.bytesRead > 100 * 50)
  })

  it('sends method, headers and body', async () => {
    const seen: string[] = []
    const server = await httpServer((req, res) => {
      let body = ''
      req.setEncoding('utf8').on('data', text => {
        body += text
      })
      req.on('end', () => {
        seen.push(`${req.method} ${req.url} ${req.headers['x-tide']} ${req.headers.host} ${body}`)
        res.end()
      })
    })
    const { port } = server
    await against(server, {
      url: `${server.url}a?b=c`,
      method: 'PUT',
      headers: { 'X-Tide': 'high' },
      body: 'größe',
      arrival: constant(10, 200),
    })
    assert.deepEqual(seen, Array(2).fill(`PUT /a?b=c high 127.0.0.1:${port} größe`))
  })

  it('sends a header once for each value in its list', async () => {
    const seen: string[] = []
    const server = await httpServer((req, res) => {
      seen.push(req.rawHeaders.filter((_, at) => req.rawHeaders[at & ~1]?.toLowerCase() === 'cookie').join(' '))
      res.end()
    })
    await against(server, { headers: { Cookie: ['a=1', 'b=2'] }, arrival: constant(10, 100) })
    assert.deepEqual(seen, ['Cookie a=1 Cookie b=2'])
  })

  it('counts the bytes of bodies apart from all bytes read', async () => {
    const server = await httpServer((req, res) => (req.url === '/' ? res.end('hello') : res.end()))
    const outcome = await against(server)
    assert.equal(outcome.bodyBytes, 100 * 5)
    assert.ok(outcome.bytesRead > 100 * 50)
  })

  it('splits the load over threads without losing a request', async () => {
    const server = await httpServer((_, res) => res.end('ok'))
    const outcome = await against(server, { threads: 3, arrival: constant(501, 1000) })
    assert.equal(outcome.scheduled, 501)
    assert.deepEqual(outcome.answered, { 200: 501 })
    assert.equal(outcome.seconds.length, 1)
  })

  it('counts a response later than the SLO as answered, but not as good', async () => {
    const server = await httpServer((_, res) => void setTimeout(() => res.end(), 60))
    const outcome = await against(server, { sloMs: 50, arrival: constant(50, 200) })
    assert.deepEqual(outcome.answered, { 200: 10 })
    assert.equal(outcome.good, 0)
  })
})

describe('runLoad: failures', TOGETHER, () => {
  for (const connections of [KEEP_ALIVE, FRESH]) {
    const kind = connections.kind
    it(`counts requests as refused if the connection is refused (${kind})`, async () => {
      const outcome = await runLoad(planFor(`http://127.0.0.1:${await closedPort()}/`, { ...PATIENT, connections }))
      booksBalance(outcome)
      assert.deepEqual(outcome.failed, { refused: 100 })
      assert.equal(outcome.okLatency.count, 0)
    })

    it(`counts requests as reset if the connection is reset (${kind})`, async () => {
      const server = await rawServer(socket => socket.on('data', () => socket.resetAndDestroy()))
      const outcome = await against(server, { connections })
      assert.deepEqual(outcome.failed, { reset: 100 })
    })

    it(`counts requests as reset if the connection is closed without a response (${kind})`, async () => {
      const server = await rawServer(socket => socket.on('data', () => socket.end()))
      assert.deepEqual((await against(server, { connections })).failed, { reset: 100 })
    })

    it(`counts requests as reset if the connection is closed within a response (${kind})`, async () => {
      const server = await rawServer(socket =>
        socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal')),
      )
      assert.deepEqual((await against(server, { connections })).failed, { reset: 100 })
    })

    it(`counts requests as timed out if the server sends nothing (${kind})`, async () => {
      const server = await rawServer(() => {})
      const outcome = await against(server, { connections, timeoutMs: SILENCE_MS })
      assert.deepEqual(outcome.failed, { 'response-timeout': 100 })
      assert.ok(outcome.elapsedMs < SILENCE_MS + 9_000, `${outcome.elapsedMs} ms`)
    })

    it(`counts requests as timed out if the server sends a byte at a time without end (${kind})`, async () => {
      const server = await rawServer(socket => {
        let timer: NodeJS.Timeout | undefined
        socket.on('data', () => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n')
          timer ??= setInterval(() => socket.write('x'), 20)
        })
        socket.on('close', () => clearInterval(timer))
      })
      const outcome = await against(server, { connections, timeoutMs: SILENCE_MS, arrival: constant(50, 200) })
      assert.deepEqual(outcome.failed, { 'response-timeout': 10 })
    })

    it(`counts a response in another protocol as malformed, and quotes it (${kind})`, async () => {
      const server = await rawServer(socket => socket.on('data', () => socket.write('SSH-2.0-tide\r\n')))
      const outcome = await against(server, { connections })
      assert.deepEqual(outcome.failed, { malformed: 100 })
      assert.equal(outcome.certified, false)
      assert.match(
        outcome.why.join(' '),
        /100 answers broke HTTP: expected an HTTP\/1\.1 status line, got "SSH-2\.0-tide"/,
      )
    })

    it(`counts binary garbage as malformed, and quotes its printable part (${kind})`, async () => {
      const server = await rawServer(socket => socket.on('data', () => socket.write('\x00 garbage\n')))
      const { failed, why } = await against(server, { connections })
      assert.deepEqual(failed, { malformed: 100 })
      assert.match(why.join(' '), /100 answers broke HTTP: expected an HTTP\/1\.1 status line, got "\? garbage"/)
    })

    it(`counts requests as connect timeouts if the server's backlog is full (${kind})`, async () => {
      const hole = await blackhole()
      try {
        const outcome = await runLoad(
          planFor(`http://127.0.0.1:${hole.port}/`, {
            ...PATIENT,
            connections,
            connectTimeoutMs: 250,
            arrival: constant(40, 500),
          }),
        )
        booksBalance(outcome)
        assert.deepEqual(outcome.failed, { 'connect-timeout': 20 })
      } finally {
        hole.close()
      }
    })
  }

  it('starts although the server closes each standing connection at once', async () => {
    let connections = 0
    const server = await rawServer(socket => {
      connections++
      socket.end()
    })
    const outcome = await against(server, { arrival: constant(20, 500) })
    assert.deepEqual(outcome.failed, { reset: 10 })
    assert.ok(connections < 100, `${connections} connections`)
  })

  it('does not count standing connections that hang before the start towards the connection limit', async () => {
    const hole = await blackhole()
    try {
      const outcome = await runLoad(
        planFor(`http://127.0.0.1:${hole.port}/`, {
          connections: { kind: 'keep-alive', count: 4, max: 4 },
          arrival: constant(8, 500),
          timeoutMs: 700,
          connectTimeoutMs: 1000,
        }),
      )
      booksBalance(outcome)
      // Each request could connect at once, and waited for its own connection.
      assert.deepEqual(outcome.failed, { 'connect-timeout': 4 })
    } finally {
      hole.close()
    }
  })

  const strange: readonly [name: string, answer: () => string | Buffer, code: string][] = [
    ['garbage', () => randomBytes(5000), 'malformed'],
    ['an endless header line', () => 'HTTP/1.1 200 OK\r\nX: '.padEnd(200_000, 'x'), 'malformed'],
    ['endless interim responses', () => 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000), 'response-timeout'],
    ['a partial header', () => 'HTTP/1.1 200 O', 'response-timeout'],
    ['a partial body', () => 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal', 'response-timeout'],
  ]
  for (const [name, answer, code] of strange) {
    it(`counts ${name} as a failed request`, async () => {
      const server = await rawServer(socket => socket.on('data', () => socket.write(answer())))
      const outcome = await against(server, code === 'response-timeout' ? { timeoutMs: SILENCE_MS } : {})
      assert.deepEqual(outcome.failed, { [code]: 100 })
    })
  }

  it('fails a response with 50 MB of headers, and stops reading it', async () => {
    const lines = `${'X-Filler: '.padEnd(998, 'x')}\r\n`.repeat(1000)
    const server = await rawServer(socket => {
      let left = 50
      const more = (): void => {
        while (left-- > 0 && socket.write(lines)) {}
      }
      socket.on('drain', more).on('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n')
        more()
      })
    })
    const outcome = await against(server)
    assert.deepEqual(outcome.failed, { malformed: 100 })
    assert.match(outcome.why.join(' '), /headers longer than 262144 bytes/)
    // Each response is cut off after the maximum length, plus the bytes of one read.
    assert.ok(outcome.bytesRead < 100 * 1_000_000, `${outcome.bytesRead} bytes read`)
  })

  it('counts requests as unresolved if the host name does not exist', async () => {
    const outcome = await runLoad(planFor('http://no-such-host.invalid/', PATIENT))
    booksBalance(outcome)
    assert.deepEqual(outcome.failed, { unresolved: 100 })
  })

  it('explain() gives the reason of a TLS error without its source location', () => {
    const error = { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', reason: 'certificate required' }
    assert.equal(explain(Object.assign(new Error('40AD:error:rec_layer_s3.c:918'), error)), 'certificate required')
  })

  it('explain() says that the machine ran out of local ports for EADDRNOTAVAIL', () => {
    assert.equal(failureOf('EADDRNOTAVAIL', false), 'other')
    const error = Object.assign(new Error('connect EADDRNOTAVAIL'), { code: 'EADDRNOTAVAIL' })
    assert.match(explain(error), /ran out of local ports/)
  })
})

describe('runLoad: abort and invalid plans', TOGETHER, () => {
  it('ends at once when aborted, and keeps what was measured', async () => {
    const server = await rawServer(socket => {
      let n = 0
      // Sends the first answer, but never the second.
      socket.on('data', () => n++ === 0 && socket.write(OK))
    })
    const abort = new AbortController()
    let abortedAt = Number.POSITIVE_INFINITY
    const outcome = await runLoad(planFor(server.url, { arrival: constant(100, 60_000), timeoutMs: 30_000 }), {
      signal: abort.signal,
      onProgress: ({ answered, inflight }) => {
        if (abort.signal.aborted || !(answered['200']! >= 10 && inflight > 0)) return
        abortedAt = Date.now()
        abort.abort()
      },
    })
    const endedMs = Date.now() - abortedAt
    await server.close()
    booksBalance(outcome)
    assert.ok(endedMs < 5000, `${endedMs} ms`)
    assert.equal(outcome.incomplete, true)
    assert.equal(outcome.certified, false)
    assert.match(outcome.why[0]!, /stopped after \d+\.\d s of 60\.0 s/)
    assert.ok(outcome.answered['200']! >= 10)
    assert.ok(outcome.failed.aborted! > 0)
  })

  it('ends at once when aborted before it started', async () => {
    const server = await rawServer(() => {})
    const outcome = await runLoad(planFor(server.url), { signal: AbortSignal.abort() })
    await server.close()
    booksBalance(outcome)
    assert.equal(outcome.incomplete, true)
  })

  it('reports progress while it runs, and the final count', async () => {
    const server = await httpServer((_, res) => res.end('ok'))
    const seen: number[] = []
    await runLoad(planFor(server.url, { arrival: constant(100, 1500) }), {
      onProgress: progress => seen.push(progress.scheduled),
    })
    await server.close()
    assert.ok(seen.length >= 2)
    assert.equal(seen.at(-1), 150)
  })

  it('refuses an invalid plan before sending anything', async () => {
    const wrong: Partial<LoadPlan>[] = [
      { timeoutMs: 0 },
      { timeoutMs: Number.NaN },
      { sloMs: Number.POSITIVE_INFINITY },
      { threads: 1.5 },
      { connections: { kind: 'keep-alive', count: 5, max: 4 } },
      { connections: { kind: 'keep-alive', count: 0, max: 0 } },
      { arrival: { kind: 'closed', users: 0, durationMs: 1000, thinkMs: 0 } },
      { arrival: constant(-1, 1000) },
      { headers: { 'content-length': '3' } },
      { headers: { 'x y': '3' } },
      { headers: { x: 'a\r\nb' } },
      { method: 'GE T' },
      { arrival: { ...constant(1, 1000), retries: 11 } },
      {
        arrival: { ...constant(1, 1000), retries: 1 },
        others: [{ url: '/', method: 'GET', headers: {}, body: undefined }],
      },
    ]
    for (const plan of wrong) {
      await assert.rejects(runLoad(planFor('http://127.0.0.1:1/', plan)), RangeError, JSON.stringify(plan))
    }
    await assert.rejects(runLoad(planFor('ftp://127.0.0.1/')), TypeError)
  })
})
