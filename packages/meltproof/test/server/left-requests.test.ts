/**
 * Requests whose clients have left: meltproof keeps none in memory, and permits are returned only when handlers end.
 */
import assert from 'node:assert/strict'
import http, { type IncomingMessage, type RequestListener, type Server } from 'node:http'
import http2 from 'node:http2'
import net from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { requests } from '../../src/channels.ts'
import { type Guard, type ProtectOptions, protect } from '../../src/index.ts'
import { eventually } from './harness.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

type Protocol = 'http' | 'http2' | 'raw streams'

interface Served {
  readonly server: Server
  readonly guard: Guard | undefined
  readonly port: number
  /** Requests whose handlers have begun. */
  came(): number
  /** Number of these requests still in memory. Collects garbage for up to a minute, until at most `most` are left. */
  inMemory(most: number): Promise<number>
}

async function serve(
  t: TestContext,
  protocol: Protocol,
  options: ProtectOptions | undefined,
  handler: RequestListener = () => {},
): Promise<Served> {
  let came = 0
  let collected = 0
  const registry = new FinalizationRegistry(() => collected++)
  const server = (protocol === 'http' ? http.createServer() : http2.createServer()) as Server
  server.on('sessionError', () => {})
  server.on(protocol === 'raw streams' ? 'stream' : 'request', (request, response) => {
    if (protocol === 'raw streams') (request as http2.ServerHttp2Stream).on('error', () => {})
    came++
    registry.register(request as object, undefined)
    handler(request as IncomingMessage, response as never)
  })
  const guard = options && protect(server, { lanes: 1, ...options })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections?.()
    guard?.close()
  })
  const inMemory = async (most: number): Promise<number> => {
    // Connections close and finalisers run in later turns.
    for (const untilMs = Date.now() + 60_000; ; ) {
      await sleep(50)
      collectGarbage()
      await sleep(50)
      if (came - collected <= most || Date.now() > untilMs) return came - collected
    }
  }
  return { server, guard, port: (server.address() as { port: number }).port, came: () => came, inMemory }
}

/** Each client sends a request, and disconnects when a handler has begun, or after about 10 ms. */
async function comeAndLeave(served: Served, protocol: Protocol, clients: number, send = GET): Promise<void> {
  const atOnce = 25
  for (let i = 0; i < clients; i += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, () => one(served, protocol, send)))
  }
}

const GET = 'GET /poll HTTP/1.1\r\nHost: test\r\n\r\n'

async function one({ port, came }: Served, protocol: Protocol, send: string): Promise<void> {
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await new Promise(resolve => socket.on('connect', resolve).on('close', resolve))
  const before = came()
  if (protocol === 'http') socket.write(send)
  else {
    const session = http2.connect(`http://127.0.0.1:${port}`, { createConnection: () => socket })
    session.on('error', () => {})
    session.on('connect', () => session.request({ ':path': '/poll' }).on('error', () => {}))
  }
  for (let i = 0; i < 10 && came() === before; i++) await sleep(1)
  socket.destroy()
}

async function nothingHeld({ guard }: Served): Promise<void> {
  const held = (): string => {
    const { abandoned, inflight, queued } = guard!.stats()
    return JSON.stringify({ abandoned, inflight, queued })
  }
  for (const untilMs = Date.now() + 60_000; held() !== NOTHING && Date.now() < untilMs; ) {
    await sleep(50)
    collectGarbage()
  }
  assert.equal(held(), NOTHING)
}

const NOTHING = JSON.stringify({ abandoned: 0, inflight: 0, queued: 0 })

describe('1,000 clients disconnect, and their handlers never answer', () => {
  for (const protocol of ['http', 'http2', 'raw streams'] as const) {
    it(`${protocol}: at most 20 requests stay in memory, as without meltproof, and no permit is held`, async t => {
      for (const options of [undefined, {}]) {
        const served = await serve(t, protocol, options)
        await comeAndLeave(served, protocol, options === undefined ? 300 : 1000)
        const inMemory = await served.inMemory(20)
        assert.ok(served.came() >= 16 && inMemory <= 20, `${inMemory} of ${served.came()}`)
        if (served.guard === undefined) continue
        await nothingHeld(served)
        // The clients and this test keep the loop busy, and without responses explain() knows only whether it was idle.
        assert.match(served.guard.explain(), /the event loop (has spare time|was never idle)/)
      }
    })
  }
})

describe('requests whose clients disconnected are freed', () => {
  const observes = (t: TestContext): void => {
    const ignore = (): void => {}
    requests.subscribe(ignore)
    t.after(() => requests.unsubscribe(ignore))
  }
  const cases: Record<
    string,
    { options?: ProtectOptions; handler?: RequestListener; send?: string; prepare?: (t: TestContext) => void }
  > = {
    'with a limit of 16': { options: { limit: 16 } },
    'under a deadline': { options: { deadlineMs: 60_000 } },
    'after their deadline has passed': { options: { deadlineMs: 1 } },
    'from trusted callers': { options: { deadlineMs: 60_000, trustCallersFrom: true } },
    'in a dry run': { options: { dryRun: true } },
    'while requests are observed': { prepare: observes },
    'after their responses have begun': {
      handler: (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders(),
    },
    'after half of a request body': {
      handler: (request, response) => {
        request.on('error', () => {}).on('data', () => {})
        request.on('end', () => response.end())
      },
      send: 'POST /poll HTTP/1.1\r\nHost: test\r\nContent-Length: 20\r\n\r\n1',
    },
    'while their handlers wait forever': {
      handler: async (_, response) => {
        await new Promise(() => {})
        response.end()
      },
    },
    'after their handlers detached the socket': {
      handler: (request, response) => response.detachSocket(request.socket),
    },
  }
  for (const [name, { options = {}, handler, send, prepare }] of Object.entries(cases)) {
    it(name, async t => {
      prepare?.(t)
      const served = await serve(t, 'http', options, handler)
      await comeAndLeave(served, 'http', 300, send)
      const inMemory = await served.inMemory(20)
      assert.ok(served.came() >= 1 && inMemory <= 20, `${inMemory} of ${served.came()}`)
      await nothingHeld(served)
    })
  }
})

describe('a permit is kept after the client has disconnected', () => {
  const handlers: Record<string, (work: Promise<void>) => RequestListener> = {
    'while the handler will still answer': work => (_, response) => void work.then(() => response.end()),
    'while the handler still refers to its request': work => request => void work.then(() => request.url),
    'while an async handler runs that needs neither request nor response': work => async (request, response) => {
      response.setHeader('x', request.url!)
      await work
    },
  }
  const MANY = 64
  /** How many requests may be treated as finished (abandoned.ts) while a slow machine runs the test. */
  const PRESUMED = 6
  for (const [name, handlerOf] of Object.entries(handlers)) {
    it(name, async t => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const served = await serve(t, 'http', { limit: MANY }, handlerOf(promise))
      while (served.came() < MANY) await one(served, 'http', GET)
      assert.equal(await served.inMemory(MANY), MANY)
      const { inflight } = served.guard!.stats()
      assert.ok(inflight >= MANY - PRESUMED, `${inflight} in service`)
      resolve()
      await sleep(0)
      await nothingHeld(served)
    })
  }
})

it('a handler that detaches the socket returns its permit, even if no other request waits', async t => {
  const sockets: net.Socket[] = []
  const served = await serve(t, 'http', { limit: 2 }, (request, response) => {
    sockets.push(request.socket)
    response.detachSocket(request.socket)
  })
  for (const leaves of [false, true]) {
    const client = net.connect(served.port, '127.0.0.1')
    t.after(() => client.destroy())
    client.on('error', () => {}).write(GET)
    await eventually('it is there', () => sockets.length === 1)
    if (leaves) client.destroy()
    if (leaves) await eventually('it has left', () => sockets[0]!.readableEnded || sockets[0]!.destroyed)
    await eventually('no permit is held', () => served.guard!.stats().inflight === 0)
    assert.equal(served.guard!.stats().abandoned, 0)
    sockets.pop()!.destroy()
  }
})
