/**
 * A streaming response keeps its permit while its handler works, and returns it while it waits for its client or for
 * events.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { GateTuning } from '../../src/admission/gate.ts'
import type { RequestPath } from '../../src/server/request-path.ts'
import { pathOn, eventually } from './harness.ts'

const PROTOCOLS = ['HTTP/1.1', 'HTTP/2'] as const
type Protocol = (typeof PROTOCOLS)[number]
type Handler = (request: IncomingMessage, response: ServerResponse) => void

interface Place {
  readonly requestPath: RequestPath
  /** Sends a GET. Resolves with its body, which is not read before `read()`. */
  readonly get: (path: string) => Asked
}

interface Asked {
  readonly begun: Promise<void>
  readonly read: () => Promise<string>
}

async function serve(
  t: TestContext,
  protocol: Protocol,
  limit: number,
  handler: Handler,
  tuning: Partial<GateTuning> = {},
): Promise<Place> {
  const server = protocol === 'HTTP/2' ? http2.createServer({ maxSessionMemory: 1000 }) : http.createServer()
  server.on('request', handler as never)
  const requestPath = pathOn(server as http.Server, { limit, tuning })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const get = protocol === 'HTTP/2' ? getOverHttp2(t, port) : (path: string): Asked => getOverHttp1(t, port, path)
  t.after(() => void server.close())
  return { requestPath, get }
}

function getOverHttp1(t: TestContext, port: number, path: string): Asked {
  const request = http.get({ port, path, agent: false })
  t.after(() => request.destroy())
  const answered = once(
    request.on('error', () => {}),
    'response',
  )
  return {
    begun: answered.then(() => {}),
    read: async () => textOf(((await answered) as [IncomingMessage])[0]),
  }
}

function getOverHttp2(t: TestContext, port: number): (path: string) => Asked {
  const session = http2.connect(`http://127.0.0.1:${port}`).on('error', () => {})
  t.after(() => session.destroy())
  return path => {
    const stream = session.request({ ':path': path }).on('error', () => {})
    return { begun: once(stream, 'response').then(() => {}), read: () => textOf(stream) }
  }
}

async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

/** Counts the handlers at work at once. */
class Work {
  now = 0
  most = 0

  async during(work: () => Promise<void>): Promise<void> {
    this.most = Math.max(this.most, ++this.now)
    await work()
    this.now--
  }
}

function compute(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

const LIMIT = 2
const CLIENTS = 6

async function rendered(response: ServerResponse, type: string | undefined): Promise<void> {
  if (type !== undefined) response.setHeader('Content-Type', type)
  response.write('<h1>at once</h1>')
  for (let i = 0; i < 20; i++) {
    compute(5)
    response.write('<p>part</p>')
    await turn()
  }
}

async function proxied(response: ServerResponse, type: string): Promise<void> {
  response.setHeader('Content-Type', type)
  response.write('data: begun\n\n')
  for (let i = 0; i < 6; i++) {
    await sleep(50)
    response.write('data: token\n\n')
  }
}

for (const protocol of PROTOCOLS) {
  describe(`a streaming response over ${protocol} keeps its permit`, () => {
    const working: Readonly<Record<string, (response: ServerResponse) => Promise<void>>> = {
      'while its page is rendered': response => rendered(response, 'text/html; charset=utf-8'),
      'while a page without a content type is rendered': response => rendered(response, undefined),
      'while a model behind it writes NDJSON': response => proxied(response, 'application/x-ndjson'),
    }
    for (const [what, stream] of Object.entries(working)) {
      it(what, async t => {
        const work = new Work()
        const { get } = await serve(t, protocol, LIMIT, (_, response) => {
          void work.during(() => stream(response)).then(() => response.end('all'))
        })
        const answers = await Promise.all(Array.from({ length: CLIENTS }, () => get('/').read()))
        for (const answer of answers) assert.ok(answer.endsWith('all'))
        assert.equal(work.most, LIMIT)
      })
    }

    it('while a model behind it writes events, if such responses have ended before', async t => {
      const work = new Work()
      const { get } = await serve(t, protocol, LIMIT, (_, response) => {
        void work.during(() => proxied(response, 'text/event-stream')).then(() => response.end('all'))
      })
      await Promise.all(Array.from({ length: LIMIT + 1 }, () => get('/').read()))
      work.most = 0
      const answers = await Promise.all(Array.from({ length: CLIENTS }, () => get('/').read()))
      for (const answer of answers) assert.ok(answer.endsWith('all'))
      assert.equal(work.most, LIMIT)
    })

    it('while a model is slow: at most twice the limit work before such a response has ended', async t => {
      const work = new Work()
      const { get } = await serve(t, protocol, LIMIT, (_, response) => {
        response.setHeader('Content-Type', 'application/x-ndjson')
        response.write('{}')
        void work.during(() => sleep(400)).then(() => response.end('all'))
      })
      await Promise.all(Array.from({ length: 4 * LIMIT }, () => get('/').read()))
      assert.ok(work.most <= 2 * LIMIT, `${work.most} at work`)
    })

    it('while it waits for a slow call', async t => {
      const work = new Work()
      const { get, requestPath } = await serve(t, protocol, LIMIT, (_, response) => {
        response.setHeader('Content-Type', 'text/html')
        response.write('<h1>at once</h1>')
        void work.during(() => sleep(700)).then(() => response.end('all'))
      })
      await Promise.all(Array.from({ length: 2 * LIMIT }, () => get('/').read()))
      assert.equal(work.most, LIMIT)
      await eventually('nothing is held', () => requestPath.stats().inflight === 0)
    })

    it('while it writes faster than its client reads', async t => {
      const work = new Work()
      const { get } = await serve(t, protocol, 1, (request, response) => {
        if (request.url === '/other') {
          response.end(`beside ${work.now}`)
          return
        }
        response.write('begun')
        const piece = Buffer.alloc(4 << 20)
        void work.during(async () => {
          for (let i = 0; i < 30; i++) {
            response.write(piece)
            await sleep(10)
          }
        })
      })
      const deaf = get('/export')
      await deaf.begun
      assert.equal(await get('/other').read(), 'beside 0')
    })

    it('again when its client reads on after a pause', async t => {
      let written = 0
      const { get, requestPath } = await serve(t, protocol, 1, (request, response) => {
        if (request.url === '/other') response.end('served')
        else void exported(response, () => ++written < 400)
      })
      const slow = get('/export')
      await slow.begun
      assert.equal(await get('/other').read(), 'served')
      assert.equal(requestPath.stats().inflight, 0)
      const all = slow.read()
      const others = Array.from({ length: 200 }, () => get('/other').read())
      let countedAgain = false
      const look = setInterval(() => (countedAgain ||= written > 100 && requestPath.stats().inflight > 0), 1)
      await Promise.all([all, ...others, eventually('it counts again', () => countedAgain || written >= 400)])
      clearInterval(look)
      assert.ok(countedAgain)
      await eventually('nothing is held', () => requestPath.stats().inflight === 0)
    })
  })

  describe(`a streaming response over ${protocol} returns its permit`, () => {
    const slow: Readonly<Record<string, Handler>> = {
      'when it has ended and its client does not read': (_, response) => response.end(Buffer.alloc(64 << 20)),
      'when its source waits for its client': (_, response) => {
        const source = new Readable({
          read() {
            this.push(Buffer.alloc(64 << 10))
          },
        })
        source.pipe(response)
        response.on('close', () => source.destroy())
      },
    }
    for (const [what, answer] of Object.entries(slow)) {
      it(what, async t => {
        const { get } = await serve(t, protocol, LIMIT, (request, response) => {
          if (request.url === '/other') response.end('served')
          else answer(request, response)
        })
        const deaf = Array.from({ length: 5 * LIMIT }, () => get('/big'))
        await Promise.all(deaf.map(({ begun }) => begun))
        assert.equal(await get('/other').read(), 'served')
      })
    }

    const watches = {
      'a thousand event sources': { count: 1000, type: 'text/event-stream' },
      'an event source with its type in capitals': { count: 1, type: 'Text/Event-Stream' },
      '200 watches of NDJSON': { count: 200, type: 'application/x-ndjson' },
      '200 watches of application/json': { count: 200, type: 'application/json' },
    } as const
    for (const [what, { count, type }] of Object.entries(watches)) {
      it(`while it waits for events, so that other requests are served: ${what}`, async t => {
        const limit = count > 1 ? 16 : 1
        const { get } = await serve(t, protocol, limit, (request, response) => {
          if (request.url === '/other') setTimeout(() => response.end('served'), 5)
          else response.writeHead(200, { 'Content-Type': type }).write('{}\n')
        })
        const all = Array.from({ length: count }, () => get('/watch'))
        let open = true
        let served = 0
        const others = async (): Promise<void> => {
          while (open) {
            assert.equal(await get('/other').read(), 'served')
            served++
          }
        }
        const traffic = Promise.all([others(), others()])
        await Promise.all(all.map(({ begun }) => begun))
        const before = served
        await eventually('others are served', () => served >= before + 50)
        open = false
        await traffic
      })
    }
  })
}

/** Writes at the pace of its client: 256 KiB and then 5 ms of work at a time. */
async function exported(response: ServerResponse, more: () => boolean): Promise<void> {
  while (more()) {
    if (!response.write(Buffer.alloc(256 << 10))) await once(response, 'drain')
    await sleep(5)
  }
  response.end()
}
