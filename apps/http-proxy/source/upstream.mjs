// The upstream of the proxy: every kind of answer, and a route with limited concurrency.
import { createHash } from 'node:crypto'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { WebSocketServer } from 'ws'

const SILENCE_MS = 12_000
const PLACES = 4
const WORK_MS = 20
const block = Buffer.alloc(1 << 20, 'proxied ')

const json = (response, status, body, headers = {}) =>
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))

/** Sends three pieces with silences between them. */
async function inPieces(response, type, piece) {
  response.writeHead(200, { 'Content-Type': type })
  for (let n = 1; n <= 3; n++) {
    response.write(piece(n))
    await sleep(SILENCE_MS)
  }
  response.end()
}

async function read(request) {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of request) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

let taken = 0
const waiting = []
async function work() {
  if (taken >= PLACES) await new Promise(resolve => waiting.push(resolve))
  taken++
  await sleep(WORK_MS)
  taken--
  waiting.shift()?.()
}

const routes = {
  '/': (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>behind the proxy</h1>\n'),
  '/json': (request, response) => json(response, 200, { forwarded: request.headers['x-forwarded-proto'] ?? null }),
  '/cookies': (_, response) => response.writeHead(200, { 'Set-Cookie': ['a=1; Path=/', 'b=2; HttpOnly'] }).end('set\n'),
  '/moved': (_, response) => response.writeHead(302, { Location: '/json' }).end(),
  '/broken': (_, response) => json(response, 500, { error: 'broken on purpose' }),
  '/busy': (_, response) => json(response, 503, { error: 'the upstream is busy' }, { 'Retry-After': '7' }),
  '/nothing': (_, response) => response.writeHead(204).end(),
  '/gzip': (_, response) =>
    response.writeHead(200, { 'Content-Encoding': 'gzip' }).end(gzipSync('squeezed '.repeat(1000))),
  '/trailers': (_, response) => {
    response.writeHead(200, { Trailer: 'X-Sum' }).write('first ')
    response.addTrailers({ 'X-Sum': '7' })
    response.end('last\n')
  },
  '/echo': async (request, response) => json(response, 200, { method: request.method, ...(await read(request)) }),
  '/cut': (_, response) => {
    response.writeHead(200, { 'Content-Length': 100 }).write('half of it')
    setTimeout(() => response.destroy(), 50)
  },
  '/sse': (_, response) => inPieces(response, 'text/event-stream', n => `data: ${n}\n\n`),
  '/ndjson': (_, response) => inPieces(response, 'application/x-ndjson', n => `${JSON.stringify({ n })}\n`),
  '/json-in-pieces': (_, response) => inPieces(response, 'application/json', n => `${n === 1 ? '[' : ','}\n${n}\n`),
  '/plain-in-pieces': (_, response) => inPieces(response, 'text/plain', n => `${n}\n`),
  '/long': async (_, response) => {
    await sleep(15_000)
    json(response, 200, { waited: true })
  },
  '/download': async (_, response) => {
    response.writeHead(200, { 'Content-Length': block.length * 32 })
    for (let n = 0; n < 32; n++) if (!response.write(block)) await new Promise(go => response.once('drain', go))
    response.end()
  },
  '/work': async (_, response) => {
    await work()
    json(response, 200, { worked: WORK_MS })
  },
}

const server = http.createServer(async (request, response) => {
  const route = routes[new URL(request.url, 'http://upstream').pathname]
  if (route === undefined) return json(response, 404, { error: 'no such route' })
  await route(request, response)
})
const sockets = new WebSocketServer({ server })
sockets.on('connection', socket => socket.on('message', data => socket.send(`echo ${data}`)))
// A keep-alive connection must not end while the proxy reuses it.
server.keepAliveTimeout = 120_000
server.listen(Number(process.env.PORT), '127.0.0.1')
