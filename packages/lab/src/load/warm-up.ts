/** Warms a worker up against a local server before its clock starts: V8 optimises only after some thousand calls. */
import { once } from 'node:events'
import { createServer as createHttp2 } from 'node:http2'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { nowMs } from './clock.ts'
import { Engine } from './engine.ts'
import { planOf } from './load-request.ts'
import type { LoadPlan } from './plan.ts'
import { requestText } from './request-text.ts'
import { parseTarget } from './target.ts'

/** 3000 requests in 200 ms are enough for the optimising compiler: after 1000, compiling was still visible. */
const RATE = 15_000
const LENGTH_MS = 200
const USERS = 16
const ANSWER = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok',
)

/** Never fails: if nothing can listen on 127.0.0.1, there is no warm-up. */
export const warmUp = async (kind: 'open' | 'closed', http2?: LoadPlan['http2']): Promise<void> => {
  const sockets = new Set<Socket>()
  const server = (http2 === undefined ? http1Server() : http2Server()).on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => {}))
  })
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening')
  } catch {
    return
  }
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/`
  const amount = kind === 'closed' ? { users: USERS } : { rate: RATE, connections: USERS }
  const plan = { ...planOf({ url, durationMs: LENGTH_MS, timeoutMs: 1000, ...amount }), ...(http2 && { http2 }) }
  const engine = new Engine({
    plan,
    peers: [{ index: 0, address: '127.0.0.1', port, tlsName: undefined }],
    requests: [{ text: requestText(plan, parseTarget(url), false), peer: 0 }],
    worker: 0,
    workers: 1,
    control: new Int32Array(new SharedArrayBuffer(4)),
  })
  await engine.open()
  await engine.run(nowMs())
  for (const socket of sockets) socket.destroy()
  await new Promise<void>(resolve => server.close(() => resolve()))
}

const http1Server = (): Server =>
  createServer({ noDelay: true }, socket => socket.on('data', () => socket.write(ANSWER)))

const http2Server = (): Server =>
  createHttp2()
    .on('stream', stream => {
      stream.on('error', () => {})
      stream.respond({ ':status': 200 })
      stream.end('ok')
    })
    .on('sessionError', () => {})
