/**
 * The servers that bench/shed-cost.ts measures, by name:
 *
 *   shed             protect() with a limit of one and 20 ms per request: all but 50 per second are shed
 *   shed-response    node:http that answers the same 503 through ServerResponse, without an admission decision
 *   shed-floor       a net server that parses nothing and writes the same bytes: the floor for any HTTP server
 *   grpc             like `shed`, for raw streams of HTTP/2, which gRPC calls are
 *   grpc-floor       node:http2 that answers each stream with a status, without an admission decision
 *
 * With `busy` as second argument, the process also burns about a millisecond of CPU in every turn of its loop, because
 * an overloaded server sheds in batches between slices of work. An idle server would wake up for each single request.
 */
import http from 'node:http'
import http2 from 'node:http2'
import net from 'node:net'
import { protect } from '../../packages/meltproof/dist/index.js'

/** Has the same length as the body of a shed. */
const BODY = JSON.stringify({
  type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
  title: 'The server is overloaded',
  status: 503,
  detail: 'This server is overloaded and did not start the request. Retry after the time given in Retry-After.',
})
const HEADERS = {
  'Content-Type': 'application/problem+json',
  'Content-Length': String(BODY.length),
  'Cache-Control': 'no-store',
  'Retry-After': '3',
}
const GRPC = {
  'content-type': 'application/grpc',
  'grpc-status': '14',
  'grpc-message': 'This server is overloaded and did not start the call.',
  'grpc-retry-pushback-ms': '2500',
}
const servers: Record<string, () => net.Server> = {
  shed: () => {
    const server = http.createServer((_, response) => {
      setTimeout(() => response.end('ok\n'), 20)
    })
    protect(server, { limit: 1 })
    return server
  },
  'shed-response': () =>
    http.createServer((_, response) => {
      response.writeHead(503, HEADERS)
      response.end(BODY)
    }),
  grpc: () => {
    const server = http2.createServer()
    server.on('stream', stream => {
      setTimeout(() => {
        if (!stream.destroyed) stream.respond({ ':status': 200, 'grpc-status': '0' }, { endStream: true })
      }, 20)
    })
    protect(server, { limit: 1 })
    return server
  },
  'grpc-floor': () =>
    http2.createServer().on('stream', stream => {
      stream.respond({ ':status': 200, ...GRPC }, { endStream: true })
    }),
  'shed-floor': () => {
    const closing = process.argv[4] === 'fresh'
    const fields = { ...HEADERS, Date: new Date().toUTCString(), Connection: closing ? 'close' : 'keep-alive' }
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
    const bytes = Buffer.from(`HTTP/1.1 503 Service Unavailable\r\n${lines.join('')}\r\n${BODY}`)
    return net.createServer({ noDelay: true }, socket => {
      socket.on('data', () => (closing ? socket.end(bytes) : socket.write(bytes)))
      socket.on('error', () => socket.destroy())
    })
  },
}

/** CPU that the slices of work have used so far, microseconds. */
let workUs = 0
/** Iterations of one slice, about a millisecond. */
const SLICE = 400_000

function work(): void {
  const before = cpuUs()
  let sum = 0
  for (let i = 0; i < SLICE; i++) sum = (sum + i * 7) | 0
  if (sum !== 1) workUs += cpuUs() - before
  setImmediate(work)
}

function cpuUs(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

const make = servers[process.argv[2] ?? '']
if (make === undefined) throw new Error(`unknown server ${process.argv[2]}; known: ${Object.keys(servers).join(', ')}`)
if (process.argv[3] === 'busy') work()
const server = make()
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as net.AddressInfo).port }))
process.on('message', () => process.send!(cpuUs() - workUs))
process.on('disconnect', () => process.exit())
