/**
 * Events that apps emit on their server themselves: adapters of serverless platforms, tools that inject requests,
 * mocks.
 */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import http, { IncomingMessage, ServerResponse } from 'node:http'
import net, { type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { pathOn, type GatedOptions, eventually, Holding, listen } from './harness.ts'

type Emit = (event: string, ...args: unknown[]) => boolean

interface Emitting {
  readonly emit: Emit
  readonly requestPath: ReturnType<typeof pathOn>
  readonly seen: unknown[][]
}

/** A server that records all emitted events. A failure of the gate fails the test. */
function emitting(options: GatedOptions = {}): Emitting {
  const server = http.createServer()
  const seen: unknown[][] = []
  server.removeAllListeners('connection')
  const requestPath = pathOn(server, options)
  for (const event of ['request', 'checkContinue', 'checkExpectation', 'connection', 'upgrade', 'connect']) {
    server.on(event, (...args: unknown[]) => seen.push(args))
  }
  return { emit: server.emit.bind(server) as Emit, requestPath, seen }
}

const nobody = null as unknown as Socket
const withoutSocket = (): ServerResponse => new ServerResponse(new IncomingMessage(nobody))

/** A response on a fake socket, like those of adapters for serverless platforms. */
function mocked(): ServerResponse {
  const response = withoutSocket()
  const mock = { writable: true, on: () => mock, removeListener: () => mock, cork() {}, uncork() {}, write: () => true }
  response.assignSocket(mock as unknown as Socket)
  return response
}

function onADuplex(): [IncomingMessage, ServerResponse, Duplex] {
  const duplex = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
  const request = new IncomingMessage(duplex as Socket)
  const response = new ServerResponse(request)
  response.assignSocket(duplex as Socket)
  return [request, response, duplex]
}

const REQUESTS: Readonly<Record<string, () => unknown>> = {
  'without a socket': () => new IncomingMessage(nobody),
  'with a socket that leads nowhere': () => new IncomingMessage(new net.Socket()),
  'with a socket that is a plain object': () => Object.assign(new IncomingMessage(nobody), { socket: {} }),
  'with a socket that is a string': () => Object.assign(new IncomingMessage(nobody), { socket: 'no' }),
  'that is a plain object': () => ({ url: '/', method: 'GET', headers: {} }),
  'that is an emitter': () => Object.assign(new EventEmitter(), { url: '/' }),
  'without a prototype': () => Object.create(null),
  'that is frozen': () => Object.freeze({}),
  'of HTTP/2 that has no stream': () => ({ httpVersionMajor: 2, rawHeaders: [] }),
  'that is null': () => null,
  'that is a number': () => 7,
  'that is missing': () => undefined,
}
const RESPONSES: Readonly<Record<string, () => unknown>> = {
  'without a socket': withoutSocket,
  'with a mock': mocked,
  'that is an emitter': () => new EventEmitter(),
  'that is a plain object': () => ({ end() {} }),
  'that is frozen': () => Object.freeze({}),
  'that is null': () => null,
  'that is a number': () => 7,
  'that is missing': () => undefined,
}

describe('a request that an app emits itself', () => {
  for (const [request, makeRequest] of Object.entries(REQUESTS)) {
    it(`is passed on unchanged, outside the gate: one ${request}`, async () => {
      const { emit, requestPath, seen } = emitting({ limit: 1 })
      for (const event of ['request', 'checkContinue', 'checkExpectation', 'connection', 'upgrade', 'connect']) {
        for (const makeResponse of Object.values(RESPONSES)) {
          const args = [makeRequest(), makeResponse(), 'a third thing']
          assert.equal(emit(event, ...args), true)
          const last = seen.at(-1)!
          assert.equal(last.length, args.length)
          for (const [i, arg] of args.entries()) assert.equal(last[i], arg)
        }
        assert.equal(emit(event), true)
      }
      await turn()
      assert.deepEqual(
        [requestPath.stats().inflight, requestPath.stats().queued, requestPath.stats().admitted],
        [0, 0, 0],
      )
    })
  }

  it('is passed on while the server drains', () => {
    const { emit, requestPath, seen } = emitting()
    requestPath.lastAnswers()
    for (const makeRequest of Object.values(REQUESTS)) {
      for (const makeResponse of Object.values(RESPONSES)) emit('request', makeRequest(), makeResponse())
    }
    assert.equal(seen.length, Object.keys(REQUESTS).length * Object.keys(RESPONSES).length)
  })

  it('takes a permit if it has its own stream, and returns it with its response', async () => {
    const { emit, requestPath, seen } = emitting({ limit: 1 })
    const [request, response] = onADuplex()
    emit('request', request, response)
    assert.equal(requestPath.stats().inflight, 1)
    const [second, answer] = onADuplex()
    emit('request', second, answer)
    assert.deepEqual([seen.length, requestPath.stats().queued], [1, 1])
    // The stream stays open, so neither it nor the response emits 'close'.
    response.end('done')
    await turn()
    await turn()
    assert.deepEqual([seen.length, requestPath.stats().inflight, requestPath.stats().queued], [2, 1, 0])
    answer.end()
    await turn()
    await turn()
    assert.equal(requestPath.stats().inflight, 0)
  })

  it('does not switch the gate off for other requests', async () => {
    const { emit, requestPath } = emitting({ limit: 1 })
    emit('request', new IncomingMessage(nobody), withoutSocket())
    for (let i = 0; i < 2; i++) {
      const [request, response] = onADuplex()
      emit('request', request, response)
    }
    assert.deepEqual([requestPath.stats().inflight, requestPath.stats().queued], [1, 1])
  })
})

/** Returns values of odd kinds, and objects whose properties throw when they are read. */
function odd(random: () => number): unknown {
  const kinds: (() => unknown)[] = [
    () => null,
    () => undefined,
    () => 7,
    () => 'text',
    () => true,
    () => () => undefined,
    () => [],
    () => new EventEmitter(),
    () => new net.Socket(),
    withoutSocket,
    mocked,
    () => new IncomingMessage(nobody),
    () => new IncomingMessage(new net.Socket()),
  ]
  const any = (): unknown => kinds[Math.floor(random() * kinds.length)]!()
  const names = [
    'socket',
    'url',
    'method',
    'headers',
    'rawHeaders',
    'on',
    'once',
    'emit',
    'destroy',
    'stream',
    'parser',
  ]
  const more = ['httpVersion', 'httpVersionMajor', 'end', 'writeHead', 'headersSent', 'shouldKeepAlive', '_httpMessage']
  const thing = any()
  if ((typeof thing !== 'object' && typeof thing !== 'function') || thing === null) return thing
  for (const name of [...names, ...more]) {
    if (random() < 0.7) continue
    try {
      if (random() < 0.9) Object.assign(thing, { [name]: any() })
      else Reflect.deleteProperty(thing, name)
    } catch {
      // The property has only a getter.
    }
  }
  if (random() < 0.05) Object.freeze(thing)
  return thing
}

it('ten thousand malformed objects, emitted as any event, are passed on, and the gate stays on', () => {
  let seed = 1
  const random = (): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7f_ff_ff_ff
    return seed / 0x80_00_00_00
  }
  const trustsCaller = (): boolean => random() < 0.5
  const { emit, requestPath, seen } = emitting({
    limit: 1,
    policy: { exemptUrl: url => url.startsWith('/exempt'), trustsCaller },
  })
  const events = [
    'request',
    'checkContinue',
    'checkExpectation',
    'connection',
    'secureConnection',
    'upgrade',
    'connect',
  ]
  let heard = 0
  for (let i = 0; i < 10_000; i++) {
    if (i === 5000) requestPath.lastAnswers()
    const event = events[i % events.length]!
    const args = [odd(random), odd(random)]
    const before = seen.length
    emit(event, ...args)
    if (event === 'secureConnection') continue
    heard++
    assert.equal(seen.length, before + 1)
    assert.deepEqual([seen.at(-1)![0] === args[0], seen.at(-1)![1] === args[1]], [true, true])
  }
  assert.equal(seen.length, heard)
  for (let i = 0; i < 2; i++) {
    const [request, response] = onADuplex()
    emit('request', request, response)
  }
  assert.deepEqual([requestPath.stats().inflight, requestPath.stats().queued], [1, 1])
})

it("a request whose event the app's own emit() delays passes the gate when it is emitted", async () => {
  const holding = new Holding()
  const server = http.createServer(holding.handler)
  const requestPath = pathOn(server, { limit: 1 })
  const { emit } = server as { emit: Emit }
  server.emit = function (this: http.Server, event: string, ...args: unknown[]): boolean {
    if (event !== 'request') return emit.call(this, event, ...args)
    setTimeout(() => emit.call(this, event, ...args), 5)
    return true
  }
  const service = await listen(server)
  for (const path of ['/first', '/second']) {
    const client = (await service.connect()).get(path)
    const { response } = await holding.take(path)
    assert.equal(requestPath.stats().inflight, 1)
    const waiting = (await service.connect()).get('/waits')
    await eventually('the next one waits', () => requestPath.stats().queued === 1)
    response.end(path)
    assert.equal((await client.answer()).body, path)
    ;(await holding.take('/waits')).response.end('served')
    assert.equal((await waiting.answer()).body, 'served')
  }
  await eventually('the permits are back', () => requestPath.stats().inflight === 0)
})
