/**
 * A dependency that behaves as its path says. It runs in a thread, so stalls of the test's loop do not stall it. Sends
 * its ports when it listens. Answers `count` with its connections and unfinished requests.
 */
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { CERTIFICATE } from '../server/tls.fixture.ts'
import { CAME, WRITTEN } from './dependency-counts.ts'

/** Requests that have arrived, and responses that have been written. */
const counts = workerData as Int32Array

const sockets = new Set<Socket>()
let open = 0

function answer(request: http.IncomingMessage, response: http.ServerResponse): void {
  open++
  Atomics.add(counts, CAME, 1)
  response.once('close', () => open--)
  response.once('finish', () => {
    Atomics.add(counts, WRITTEN, 1)
    Atomics.notify(counts, WRITTEN)
  })
  const url = new URL(request.url!, 'http://dependency')
  const ms = Number(url.searchParams.get('ms') ?? 0)
  const bytes = Number(url.searchParams.get('bytes') ?? 0)
  const type = url.searchParams.get('type') ?? 'text/plain'
  switch (url.pathname) {
    case '/hello':
      setTimeout(() => response.writeHead(200, { 'content-type': type }).end('hello'), ms)
      break
    case '/claims':
      setTimeout(() => response.writeHead(200, { 'server-timing': `total;dur=${ms}` }).end('hello'), ms)
      break
    case '/silent':
      break
    case '/headers':
      response.end(JSON.stringify(request.headers))
      break
    case '/stuck':
      response.writeHead(200, { 'content-type': type, 'content-length': 1000 }).write('x'.repeat(100))
      break
    case '/drip': {
      response.writeHead(200, { 'content-type': type }).flushHeaders()
      const timer = setInterval(() => response.write('.'), ms)
      response.once('close', () => clearInterval(timer))
      break
    }
    case '/head-drip': {
      const text = 'HTTP/1.1 200 OK\r\nx-slow: '
      let at = 0
      const timer = setInterval(() => response.socket?.write(text[at++] ?? 'x'), ms)
      request.socket.once('close', () => clearInterval(timer))
      break
    }
    case '/big':
      response.writeHead(200, { 'content-type': type }).end(Buffer.alloc(bytes, 'b'))
      break
    case '/echo-length': {
      let length = 0
      request.on('data', (chunk: Buffer) => (length += chunk.length)).on('end', () => response.end(String(length)))
      break
    }
    // Reads 512 KB at a time with pauses of `ms`, and without pauses once it has `bytes`.
    case '/sip': {
      let length = 0
      let pauses = 0
      request.on('end', () => response.end(String(length)))
      request.on('data', (chunk: Buffer) => {
        length += chunk.length
        if (length > bytes || length < pauses * 524_288) return
        pauses++
        request.pause()
        setTimeout(() => request.resume(), ms)
      })
      break
    }
    case '/deaf':
      request.pause()
      break
    case '/redirect':
      response.writeHead(302, { location: '/hello' }).end()
      break
    default:
      response.writeHead(404).end()
  }
}

function upgrade(request: http.IncomingMessage, socket: Socket): void {
  if (request.url === '/silent') return
  socket.on('error', () => undefined)
  socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\nconnection: upgrade\r\n\r\n')
  socket.pipe(socket)
}

const plain = http.createServer(answer).on('upgrade', upgrade)
plain.on('connect', (_request, socket: Socket) => {
  socket.on('error', () => undefined)
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
  socket.pipe(socket)
})
const secure = https.createServer(CERTIFICATE, answer)
for (const server of [plain, secure]) {
  server.requestTimeout = 0
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  })
}
plain.listen(0, '127.0.0.1', () =>
  secure.listen(0, '127.0.0.1', () =>
    parentPort!.postMessage({
      port: (plain.address() as AddressInfo).port,
      securePort: (secure.address() as AddressInfo).port,
    }),
  ),
)
parentPort!.on('message', () => parentPort!.postMessage({ connections: sockets.size, open }))
