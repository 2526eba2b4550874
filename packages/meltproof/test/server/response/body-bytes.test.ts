/** The body bytes of a response in records, compared with what a client receives after the head, on real sockets. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import tls from 'node:tls'
import { type RequestMessage, requests, type ShedMessage, sheds } from '../../../src/channels.ts'
import { protect } from '../../../src/index.ts'
import type { ProtectedServer } from '../../../src/server/protect.ts'
import { HTML_PAGE, SHED_PROBLEM } from '../../../src/server/response/own-answers.ts'
import { pathOn } from '../harness.ts'
import { CERTIFICATE } from '../tls.fixture.ts'

const BIG = 'x'.repeat(300_000)

const HANDLERS: Readonly<Record<string, (response: http.ServerResponse) => void>> = {
  '/plain': response => response.end('hello'),
  '/utf8': response => response.end('grüße'),
  '/buffer': response => response.end(Buffer.alloc(1000)),
  '/nothing': response => response.end(),
  '/announced': response => response.writeHead(200, { 'Content-Length': 5 }).end('hello'),
  '/set': response => response.setHeader('content-length', 5).end('hello'),
  '/umlaut': response => response.writeHead(200, { 'x-name': 'grüße', 'content-length': 7 }).end('grüße'),
  '/short': response => response.writeHead(200, { 'content-length': 9, connection: 'close' }).end('hello'),
  '/head-then-end': response => response.writeHead(200).end('hello'),
  '/later': response => void setImmediate(() => response.end('hello')),
  '/hints': response => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' })
    response.end('hello')
  },
  '/streamed': response => {
    response.write('a'.repeat(5000))
    setImmediate(() => {
      response.write('b')
      response.end('c')
    })
  },
  '/big': response => {
    response.write(BIG)
    response.end(BIG)
  },
  '/204': response => response.writeHead(204).end(),
  '/304': response => response.writeHead(304, { 'content-length': 500 }).end('ignored'),
}

const servers: (net.Server & { closeAllConnections?: () => void })[] = []
after(() => {
  for (const server of servers) server.closeAllConnections?.()
  for (const server of servers) server.close()
})

async function serve<S extends ProtectedServer>(server: S, guard: (server: S) => void = protect) {
  servers.push(server)
  guard(server)
  const bytes: (number | undefined)[] = []
  let arrived = (): void => undefined
  const note = ({ record, server: from }: RequestMessage | ShedMessage): void => {
    if ((from as unknown) !== server) return
    bytes.push(record.bytes)
    arrived()
  }
  requests.subscribe(note)
  sheds.subscribe(note)
  after(() => {
    requests.unsubscribe(note)
    sheds.unsubscribe(note)
  })
  await once(server.listen(0), 'listening')
  const until = async (count: number): Promise<(number | undefined)[]> => {
    while (bytes.length < count) await new Promise<void>(resolve => (arrived = resolve))
    return bytes
  }
  return { port: (server.address() as AddressInfo).port, until, bytes }
}

const handle = (request: http.IncomingMessage, response: http.ServerResponse): void => HANDLERS[request.url!]!(response)

/** Returns the exact bytes after the (last) head of a response. */
async function received(
  socket: net.Socket,
  path: string,
  method = 'GET',
  version = '1.1',
  more = 'x-y: z',
): Promise<number> {
  const parts: Buffer[] = []
  socket.on('data', part => parts.push(part))
  socket.write(`${method} ${path} HTTP/${version}\r\nhost: x\r\n${more}\r\nconnection: close\r\n\r\n`)
  await once(socket, 'close')
  const all = Buffer.concat(parts)
  let head = all.indexOf(`HTTP/1.1 `)
  if (path === '/hints') head = all.indexOf(`HTTP/1.1 `, head + 1)
  return all.length - all.indexOf('\r\n\r\n', head) - 4
}

describe('record.bytes over HTTP/1', () => {
  for (const path of Object.keys(HANDLERS)) {
    it(`counts what follows the head: ${path}`, async () => {
      const { port, until } = await serve(http.createServer(handle))
      const count = await received(net.connect(port), path)
      assert.deepEqual(await until(1), [count])
    })
  }

  it('counts the body alone when its length is known', async () => {
    const { port, until } = await serve(http.createServer(handle))
    for (const path of ['/plain', '/utf8', '/announced', '/umlaut', '/later', '/hints', '/304']) {
      await received(net.connect(port), path)
    }
    assert.deepEqual(await until(7), [5, 7, 5, 7, 5, 5, 0])
  })

  it('is 0 for HEAD', async () => {
    const { port, until } = await serve(http.createServer(handle))
    for (const path of ['/plain', '/announced', '/streamed']) await received(net.connect(port), path, 'HEAD')
    assert.deepEqual(await until(3), [0, 0, 0])
  })

  it('counts the bodies of HTTP/1.0, which have no chunks', async () => {
    const { port, until } = await serve(http.createServer(handle))
    await received(net.connect(port), '/streamed', 'GET', '1.0')
    await received(net.connect(port), '/plain', 'GET', '1.0')
    assert.deepEqual(await until(2), [5002, 5])
  })

  it('counts bytes before encryption', async () => {
    const { port, until } = await serve(https.createServer(CERTIFICATE, handle))
    const count = await received(tls.connect({ port, rejectUnauthorized: false }), '/streamed')
    assert.deepEqual(await until(1), [count])
  })

  it('counts each response of a kept-alive connection on its own', async () => {
    const { port, until } = await serve(http.createServer(handle))
    // Node 26 merges two small writes into one chunk.
    const framed = await received(net.connect(port), '/streamed')
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    for (const path of ['/streamed', '/plain', '/streamed', '/head-then-end', '/304', '/later']) {
      const [response] = await once(http.get({ port, path, agent }), 'response')
      await once((response as http.IncomingMessage).resume(), 'end')
    }
    agent.destroy()
    assert.deepEqual((await until(7)).slice(1), [framed, 5, framed, 5 + '5\r\n\r\n0\r\n\r\n'.length, 0, 5])
  })

  it('is right for pipelined responses, or undefined if another response hides their chunks', async () => {
    const { port, until } = await serve(http.createServer(handle))
    const framed = await received(net.connect(port), '/streamed')
    const socket = net.connect(port).resume()
    const paths = ['/later', '/streamed', '/plain', '/streamed']
    socket.write(paths.map(path => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).join(''))
    const told = (await until(5)).slice(1)
    socket.destroy()
    assert.deepEqual([told[0], told[2]], [5, 5])
    // On a busy machine the response before it may have ended, so that nothing hides its chunks.
    assert.ok(told[1] === undefined || told[1] === framed, `${told[1]}`)
    assert.equal(told[3], framed)
  })

  it('counts what was written before the client disconnected', async () => {
    const { port, until } = await serve(
      http.createServer((request, response) => {
        if (request.url === '/never') return
        response.writeHead(200, { 'content-length': 1000 })
        response.write('hello')
      }),
    )
    const silent = net.connect(port)
    silent.write('GET /never HTTP/1.1\r\nhost: x\r\n\r\n', () => silent.end())
    silent.resume()
    await until(1)
    const cut = net.connect(port)
    cut.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(cut, 'data')
    cut.destroy()
    assert.deepEqual(await until(2), [0, 5])
  })
})

describe('record.bytes over HTTP/2', () => {
  it('counts the body without frames', async () => {
    const handler = handle as never
    const { port, until } = await serve(http2.createServer(handler))
    const session = http2.connect(`http://localhost:${port}`)
    const told: number[] = []
    for (const [path, method] of [
      ['/plain', 'GET'],
      ['/utf8', 'GET'],
      ['/streamed', 'GET'],
      ['/big', 'GET'],
      ['/nothing', 'GET'],
      ['/plain', 'HEAD'],
      ['/304', 'GET'],
    ] as const) {
      const stream = session.request({ ':path': path, ':method': method })
      let count = 0
      stream.on('data', (part: Buffer) => (count += part.length))
      await once(stream, 'close')
      told.push(count)
    }
    assert.deepEqual(await until(7), [5, 7, 5002, 600_000, 0, 0, 0])
    assert.deepEqual(told, [5, 7, 5002, 600_000, 0, 0, 0])
    session.close()
  })

  it('is undefined when the app answered on the raw stream', async () => {
    const { port, until } = await serve(
      http2.createServer((_, response) => {
        response.stream.respond({ ':status': 200 })
        response.stream.end('raw')
      }),
    )
    const session = http2.connect(`http://localhost:${port}`)
    await once(session.request({ ':path': '/' }).resume(), 'close')
    assert.deepEqual(await until(1), [undefined])
    session.close()
  })

  it('counts what was written before the client reset the stream', async () => {
    const { port, until } = await serve(
      http2.createServer((request, response) => {
        if (request.url === '/part') response.write('hello')
      }),
    )
    const session = http2.connect(`http://localhost:${port}`)
    const part = session.request({ ':path': '/part' })
    await once(part, 'data')
    part.close(http2.constants.NGHTTP2_CANCEL)
    assert.deepEqual(await until(1), [5])
    session.destroy()
  })
})

describe('record.bytes of a shed', () => {
  /** One request is in service, and the next waits for 10 ms. */
  const full = (server: net.Server): void => void pathOn(server as http.Server, { limit: 1, tuning: { maxWaitMs: 10 } })
  const problem = Buffer.byteLength(SHED_PROBLEM.text)
  const page = Buffer.byteLength(HTML_PAGE)

  it('counts its body over HTTP/1', async () => {
    let held = (): void => undefined
    const holds = new Promise<void>(resolve => (held = resolve))
    const { port, until } = await serve(
      http.createServer(() => held()),
      full,
    )
    net.connect(port).write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await holds
    assert.equal(await received(net.connect(port), '/'), problem)
    assert.equal(await received(net.connect(port), '/', 'HEAD'), 0)
    // Sent through Node's own response.
    assert.equal(await received(net.connect(port), '/', 'GET', '1.0'), problem)
    assert.equal(await received(net.connect(port), '/', 'GET', '1.1', 'accept: text/html'), page)
    assert.deepEqual(await until(4), [problem, 0, problem, page])
  })

  it('counts its body over HTTP/2', async () => {
    let held = (): void => undefined
    const holds = new Promise<void>(resolve => (held = resolve))
    const { port, until } = await serve(
      http2.createServer(() => held()),
      full,
    )
    const session = http2.connect(`http://localhost:${port}`)
    session.request({ ':path': '/' }).on('error', () => undefined)
    await holds
    for (const method of ['GET', 'HEAD']) {
      await once(session.request({ ':path': '/', ':method': method }).resume(), 'close')
    }
    assert.deepEqual(await until(2), [problem, 0])
    session.destroy()
  })
})
