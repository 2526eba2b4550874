/**
 * The ways in which a client can end a response, or make Node end it, while its handler works. Used by the tests and
 * bench/handlers-at-work.ts. Knows nothing of meltproof.
 */
import http, { type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import http2, { type ServerHttp2Stream } from 'node:http2'
import https from 'node:https'
import net from 'node:net'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'
import { CERTIFICATE } from './tls.fixture.ts'

export const PROTOCOLS = ['http', 'https', 'http2', 'raw streams'] as const
export type Protocol = (typeof PROTOCOLS)[number]

/** How the handler behaves before its dependency answers. */
export interface Work {
  /** It writes the head of its response first. */
  readonly headFirst?: boolean
  /** It lets the request body flow, without waiting for it. */
  readonly resumes?: boolean
}

export interface WayOut {
  readonly name: string
  readonly work?: Work
  /** Options of the server. */
  readonly options?: http.ServerOptions & { readonly idleMs?: number }
  readonly upgrades?: boolean
  /** The client still gets a response. */
  readonly answered?: boolean
}

/** Over HTTP/1: the bytes to send, and the way out once the handler works. */
export interface Http1Way extends WayOut {
  readonly send: string
  readonly go?: (socket: net.Socket, server: Server) => void
  readonly secure?: boolean
}

/** Over HTTP/2: the way out of a stream once the handler works. */
export interface Http2Way extends WayOut {
  readonly body?: 'half'
  readonly go?: (stream: http2.ClientHttp2Stream, session: http2.ClientHttp2Session, socket: net.Socket) => void
}

const GET = 'GET /work HTTP/1.1\r\nHost: test\r\n\r\n'
const HALF = 'POST /work HTTP/1.1\r\nHost: test\r\nContent-Length: 20\r\n\r\n1'
const CHUNKED = 'POST /work HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n'
const CONNECT = 'CONNECT other:80 HTTP/1.1\r\nHost: other\r\n\r\n'
const UPGRADE = 'GET /work HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'
const GARBAGE = 'this is no request\r\n\r\n'
const later =
  (bytes: string) =>
  (socket: net.Socket): void =>
    void socket.write(bytes, 'latin1')
const IMPATIENT = { requestTimeout: 40, headersTimeout: 40, connectionsCheckingInterval: 10 }

export const HTTP1_WAYS: readonly Http1Way[] = [
  { name: 'it closes', send: GET, go: socket => void socket.destroy() },
  {
    name: 'a request that says it is HTTP/2.0, then it closes',
    send: GET.replace('1.1', '2.0'),
    go: socket => void socket.destroy(),
  },
  { name: 'garbage behind the request', send: GET + GARBAGE },
  { name: 'garbage later', send: GET, go: later(GARBAGE) },
  { name: 'CONNECT behind the request', send: GET + CONNECT },
  { name: 'CONNECT later', send: GET, go: later(CONNECT) },
  { name: 'CONNECT behind the request, which the app takes', send: GET + CONNECT, upgrades: true, answered: true },
  { name: 'an upgrade behind the request', send: GET + UPGRADE, upgrades: true, answered: true },
  { name: 'an upgrade later', send: GET, go: later(UPGRADE), upgrades: true, answered: true },
  { name: 'the preface of HTTP/2 later', send: GET, go: later('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n') },
  { name: 'a head too long, later', send: GET, go: later(`GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`) },
  { name: 'a broken chunk', send: CHUNKED, go: later('zz\r\n') },
  { name: 'a chunk extension too long', send: CHUNKED, go: later(`1;${'x'.repeat(20_000)}\r\n1\r\n`) },
  { name: 'the end of the connection in the middle of a body', send: HALF, go: socket => void socket.end() },
  { name: 'half a body, then it closes', send: HALF, work: { resumes: true }, go: socket => void socket.destroy() },
  { name: 'half a body, which the handler lets flow', send: HALF, work: { resumes: true }, answered: true },
  { name: 'half a body for longer than requestTimeout', send: HALF, options: IMPATIENT },
  { name: 'half a head for longer than headersTimeout', send: `${GET}GET / HTTP/1.1\r\nHo`, options: IMPATIENT },
  { name: 'nothing for longer than server.timeout', send: GET, options: { idleMs: 40 } },
  { name: 'the app closes all connections', send: GET, go: (_, server) => server.closeAllConnections() },
  {
    name: 'a reset after the head of the answer',
    ...{ send: GET, work: { headFirst: true }, go: socket => void below(socket).resetAndDestroy() },
  },
  {
    name: 'the end of the connection after the head of the answer',
    ...{ send: GET, work: { headFirst: true }, go: socket => void socket.end() },
  },
  {
    name: 'garbage after the head of the answer',
    ...{ send: GET, work: { headFirst: true }, go: later(GARBAGE) },
  },
  {
    name: 'a broken TLS record',
    ...{ send: GET, secure: true, go: (socket: net.Socket) => below(socket).write('\x17\x03\x03\x00\x05hello') },
  },
]

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = http2.constants
const reset =
  (code: number) =>
  (stream: http2.ClientHttp2Stream): void =>
    stream.close(code)

export const HTTP2_WAYS: readonly Http2Way[] = [
  { name: 'RST_STREAM with NO_ERROR', go: reset(NGHTTP2_NO_ERROR) },
  { name: 'RST_STREAM with CANCEL', go: reset(NGHTTP2_CANCEL) },
  { name: 'RST_STREAM with another error', go: reset(NGHTTP2_INTERNAL_ERROR) },
  { name: 'RST_STREAM with NO_ERROR after the head', work: { headFirst: true }, go: reset(NGHTTP2_NO_ERROR) },
  { name: 'RST_STREAM with CANCEL after the head', work: { headFirst: true }, go: reset(NGHTTP2_CANCEL) },
  { name: 'the session is destroyed', go: (_, session) => session.destroy() },
  {
    name: 'the session is destroyed after the head',
    ...{ work: { headFirst: true }, go: (_, session) => session.destroy() },
  },
  { name: 'GOAWAY and the end of the connection', go: goAway },
  { name: 'the end of the connection', go: (_stream, _session, socket) => void socket.end() },
  { name: 'a reset of the connection', go: (_stream, _session, socket) => void socket.resetAndDestroy() },
  { name: 'garbage on the connection', go: (_stream, _session, socket) => void socket.write(GARBAGE) },
  {
    name: 'garbage on the connection after the head',
    ...{ work: { headFirst: true }, go: (_stream, _session, socket) => void socket.write(GARBAGE) },
  },
  { name: 'half a body, which the handler lets flow', body: 'half', work: { resumes: true }, answered: true },
  { name: 'half a body, then RST_STREAM', body: 'half', work: { resumes: true }, go: reset(NGHTTP2_CANCEL) },
  { name: 'nothing for longer than server.timeout', options: { idleMs: 40 } },
]

function goAway(_: http2.ClientHttp2Stream, session: http2.ClientHttp2Session, socket: net.Socket): void {
  session.goaway(NGHTTP2_NO_ERROR)
  setTimeout(() => socket.destroy(), 5)
}

const BELOW = Symbol('below')

function below(socket: net.Socket & { [BELOW]?: net.Socket }): net.Socket {
  return socket[BELOW]!
}

export type WorkingServer = Server | http2.Http2Server

/** Creates a server whose handlers call `work` and then respond. It does not listen yet. */
export function serverFor(protocol: Protocol, way: WayOut, work: () => Promise<unknown>): WorkingServer {
  const { idleMs = 0, ...options } = way.options ?? {}
  const server = make(protocol, options, way, work)
  server.setTimeout(idleMs)
  if (way.upgrades) {
    const taken = (_: IncomingMessage, socket: Duplex): void => void socket.on('error', () => {}).resume()
    server.on('upgrade', taken).on('connect', taken)
  }
  server.on('sessionError', () => {})
  return server
}

function make(protocol: Protocol, options: http.ServerOptions, way: WayOut, work: () => Promise<unknown>) {
  const { headFirst, resumes } = way.work ?? {}
  const handler: RequestListener = (request, response) => {
    request.on('error', () => {})
    if (resumes) request.resume()
    if (headFirst) response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    void work().then(() => response.end('done'))
  }
  const onStream = (stream: ServerHttp2Stream): void => {
    stream.on('error', () => {})
    if (resumes) stream.resume()
    if (headFirst) stream.respond({ ':status': 200, 'content-type': 'application/json' })
    void work().then(() => {
      if (!headFirst && !stream.destroyed) stream.respond({ ':status': 200 })
      stream.end('done')
    })
  }
  if (protocol === 'http') return http.createServer(options, handler)
  if (protocol === 'https') return https.createServer({ ...CERTIFICATE, ...options }, handler)
  const server = http2.createServer()
  if (protocol === 'raw streams') return server.on('stream', onStream)
  type Compat = (request: unknown, response: unknown) => void
  return server.on('request', ((request: IncomingMessage, response: ServerResponse) =>
    handler(request, response as never)) as Compat)
}

/** A client that has sent its request. */
export interface Visit {
  /** Takes the way out. */
  go(server: WorkingServer): void
  /** Everything that it has received. */
  received(): string
  /** Resolves when its connection or stream has closed. */
  readonly closed: Promise<void>
  leave(): void
}

export function visit(protocol: Protocol, way: Http1Way | Http2Way, port: number): Promise<Visit> {
  return 'send' in way ? visitHttp1(port, protocol === 'https', way) : visitHttp2(port, way)
}

async function visitHttp1(port: number, secure: boolean, way: Http1Way): Promise<Visit> {
  const plain = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const socket: net.Socket & { [BELOW]?: net.Socket } = secure
    ? tls.connect({ socket: plain, rejectUnauthorized: false })
    : plain
  socket[BELOW] = plain
  let received = ''
  for (const each of [socket, plain]) each.on('error', () => {})
  socket.on('data', chunk => {
    received += chunk.toString('latin1')
  })
  const closed = new Promise<void>(resolve => {
    socket.on('end', resolve).on('close', resolve)
  })
  const ready = new Promise<void>(resolve => socket.once(secure ? 'secureConnect' : 'connect', resolve))
  await Promise.race([ready, closed])
  socket.write(way.send, 'latin1')
  return {
    go: server => way.go?.(socket, server as Server),
    received: () => received,
    closed,
    leave: () => void plain.destroy(),
  }
}

async function visitHttp2(port: number, way: Http2Way): Promise<Visit> {
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => {})
  const session = http2.connect(`http://127.0.0.1:${port}`, { createConnection: () => socket })
  session.on('error', () => {})
  const post = way.body === 'half'
  const stream = session.request({ ':path': '/work', ':method': post ? 'POST' : 'GET' }, { endStream: !post })
  let received = ''
  stream.on('error', () => {})
  stream.on('response', headers => {
    received += `${headers[':status']} `
  })
  stream.on('data', chunk => {
    received += String(chunk)
  })
  const closed = new Promise<void>(resolve => {
    stream.on('end', resolve).on('close', resolve)
    session.on('close', resolve)
  })
  if (post) stream.write('1')
  return {
    go: () => void (session.destroyed || stream.destroyed || way.go?.(stream, session, socket)),
    received: () => received,
    closed,
    leave: () => void socket.destroy(),
  }
}
