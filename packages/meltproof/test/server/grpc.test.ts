/** Services and clients of @grpc/grpc-js, with a gate whose limit is known. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http from 'node:http'
import http2, { type Http2Server } from 'node:http2'
import { after, describe, it } from 'node:test'
import grpc from '@grpc/grpc-js'
import { protect, type ProtectOptions } from '../../src/index.ts'
import type { Guard } from '../../src/server/guard.ts'
import type { RequestPath } from '../../src/server/request-path.ts'
import { type GatedOptions, pathOn, eventually } from './harness.ts'

const { status } = grpc
const asIs = (message: Buffer): Buffer => message
const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
  path: `/test.Test/${name}`,
  requestStream,
  responseStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
})
const SERVICE = {
  unary: method('Unary', false, false),
  clientStream: method('ClientStream', true, false),
  serverStream: method('ServerStream', false, true),
  bidi: method('Bidi', true, true),
}
type Unary = (message: Buffer, ...rest: unknown[]) => grpc.ClientUnaryCall
interface Client extends grpc.Client {
  unary: Unary
  clientStream(done: (error: grpc.ServiceError | null, answer?: Buffer) => void): grpc.ClientWritableStream<Buffer>
  serverStream(message: Buffer): grpc.ClientReadableStream<Buffer>
  bidi(): grpc.ClientDuplexStream<Buffer, Buffer>
}
const TestClient = grpc.makeGenericClientConstructor(SERVICE, 'Test') as unknown as new (
  address: string,
  credentials: grpc.ChannelCredentials,
  options?: object,
) => Client

const servers: grpc.Server[] = []
const clients: Client[] = []
after(() => {
  for (const client of clients) client.close()
  for (const server of servers) server.forceShutdown()
})

/** The unary calls whose handlers have started. The test answers them. */
class Calls {
  readonly #calls: (() => void)[] = []
  started = 0

  readonly unary = ({ request }: { request: Buffer }, done: grpc.sendUnaryData<Buffer>): void => {
    this.started++
    if (String(request) === 'fail') done({ code: status.NOT_FOUND, details: 'no such thing' })
    else this.#calls.push(() => done(null, Buffer.from(`got ${request}`)))
  }

  answer(): void {
    for (const call of this.#calls.splice(0)) call()
  }
}

/** @param onServer receives the server that grpc-js creates */
async function serve(
  onServer: (server: Http2Server) => void,
): Promise<{ calls: Calls; port: number; server: grpc.Server }> {
  const calls = new Calls()
  const server = new grpc.Server()
  servers.push(server)
  server.addService(SERVICE, {
    unary: calls.unary,
    clientStream(call: grpc.ServerReadableStream<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) {
      let text = ''
      call.on('data', message => (text += String(message)))
      call.on('end', () => done(null, Buffer.from(text)))
    },
    serverStream(call: grpc.ServerWritableStream<Buffer, Buffer>) {
      for (const word of String(call.request).split(' ')) call.write(Buffer.from(word))
      if (String(call.request) !== 'for ever') call.end()
    },
    bidi(call: grpc.ServerDuplexStream<Buffer, Buffer>) {
      call.on('data', message => call.write(message))
      call.on('end', () => call.end())
    },
  })
  const { createServer } = http2
  const creating = (...args: unknown[]): Http2Server => {
    const made = (createServer as (...args: unknown[]) => Http2Server)(...args)
    onServer(made)
    return made
  }
  http2.createServer = creating as typeof createServer
  try {
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    )
    return { calls, port, server }
  } finally {
    http2.createServer = createServer
  }
}

async function startGrpc(
  options: GatedOptions = {},
): Promise<{ requestPath: RequestPath; calls: Calls; port: number }> {
  let requestPath!: RequestPath
  const served = await serve(server => {
    requestPath = pathOn(server as unknown as http.Server, options)
  })
  return { requestPath, ...served }
}

function clientOf(port: number, options: object = {}): Client {
  const address = `127.0.0.1:${port}`
  const client = new TestClient(address, grpc.credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
    ...options,
  })
  clients.push(client)
  return client
}

interface Answer {
  readonly code: number
  readonly text: string
  readonly metadata?: grpc.Metadata
}

function ask(client: Client, text: string, options: grpc.CallOptions = {}): Promise<Answer> {
  return new Promise(resolve =>
    client.unary(Buffer.from(text), options, (error: grpc.ServiceError | null, answer?: Buffer) =>
      resolve(
        error === null
          ? { code: status.OK, text: String(answer) }
          : { code: error.code, text: error.details, metadata: error.metadata },
      ),
    ),
  )
}

async function wordsOf(call: grpc.ClientReadableStream<Buffer>): Promise<string> {
  const words: string[] = []
  call.on('data', message => words.push(String(message)))
  await once(call, 'end')
  return words.join(' ')
}

const idle = (requestPath: RequestPath): Promise<void> =>
  eventually('nothing is in service', () => requestPath.stats().inflight + requestPath.stats().queued === 0)

describe('a grpc-js service', () => {
  it('answers calls of each kind, and failing ones', async () => {
    const { requestPath, calls, port } = await startGrpc({ limit: 4 })
    const client = clientOf(port)
    const unary = ask(client, 'one')
    await eventually('it has started', () => calls.started === 1)
    assert.equal(requestPath.stats().inflight, 1)
    calls.answer()
    assert.deepEqual(await unary, { code: status.OK, text: 'got one' })
    const { code, text } = await ask(client, 'fail')
    assert.deepEqual([code, text], [status.NOT_FOUND, 'no such thing'])

    const sent = await new Promise((resolve, reject) => {
      const call = client.clientStream((error, answer) => (error ? reject(error) : resolve(String(answer))))
      for (const word of ['a', 'b', 'c']) call.write(Buffer.from(word))
      call.end()
    })
    assert.equal(sent, 'abc')
    assert.equal(await wordsOf(client.serverStream(Buffer.from('these words'))), 'these words')
    const bidi = client.bidi()
    const words = wordsOf(bidi)
    for (const word of ['x', 'y']) bidi.write(Buffer.from(word))
    bidi.end()
    assert.equal(await words, 'x y')
    await idle(requestPath)
    assert.equal(requestPath.stats().admitted, 5)
  })

  it('receives a call whole after it has waited', async () => {
    const { requestPath, calls, port } = await startGrpc()
    const client = clientOf(port)
    const first = ask(client, 'first')
    await eventually('it has started', () => calls.started === 1)
    const sent = new Promise<string>((resolve, reject) => {
      const call = client.clientStream((error, answer) => (error ? reject(error) : resolve(String(answer))))
      for (let n = 0; n < 20; n++) call.write(Buffer.alloc(10_000, String(n % 10)))
      call.end()
    })
    await eventually('it waits', () => requestPath.stats().queued === 1)
    calls.answer()
    assert.equal((await first).code, status.OK)
    assert.equal((await sent).length, 200_000)
    await idle(requestPath)
  })

  it('frees the permit of a slow upload stream, whose end waits for a permit', async () => {
    const { requestPath, calls, port } = await startGrpc()
    const client = clientOf(port)
    let upload!: grpc.ClientWritableStream<Buffer>
    const sent = new Promise<string>((resolve, reject) => {
      upload = client.clientStream((error, answer) => (error ? reject(error) : resolve(String(answer))))
    })
    upload.write(Buffer.from('slowly '))
    await eventually('the upload has started', () => requestPath.stats().admitted === 1)
    const unary = ask(client, 'one')
    await eventually('the call has started', () => calls.started === 1)
    upload.end(Buffer.from('sent'))
    await eventually('the end of the upload waits', () => requestPath.stats().queued === 1)
    calls.answer()
    assert.equal((await unary).code, status.OK)
    assert.equal(await sent, 'slowly sent')
    await idle(requestPath)
  })

  it('forgets a slow upload stream whose client cancels it', async () => {
    const { requestPath, calls, port } = await startGrpc()
    const client = clientOf(port)
    for (const isComplete of [false, true]) {
      const { admitted } = requestPath.stats()
      const upload = client.clientStream(() => {})
      upload.write(Buffer.from('slowly'))
      await eventually('the upload has started', () => requestPath.stats().admitted > admitted)
      const started = calls.started
      const unary = ask(client, 'one')
      await eventually('the call has started', () => calls.started > started)
      if (isComplete) {
        upload.end()
        await eventually('the end of the upload waits', () => requestPath.stats().queued === 1)
      }
      upload.cancel()
      await eventually('nothing waits', () => requestPath.stats().queued === 0)
      calls.answer()
      assert.equal((await unary).code, status.OK)
      await idle(requestPath)
    }
  })

  it('never sees a call that was cancelled while it waited', async () => {
    const { requestPath, calls, port } = await startGrpc()
    const client = clientOf(port)
    const first = ask(client, 'first')
    await eventually('it has started', () => calls.started === 1)
    const cancelled = client.unary(Buffer.from('second'), () => {})
    await eventually('it waits', () => requestPath.stats().queued === 1)
    cancelled.cancel()
    await eventually('it has left', () => requestPath.stats().queued === 0)
    assert.equal((await ask(client, 'third', { deadline: Date.now() + 50 })).code, status.DEADLINE_EXCEEDED)
    await eventually('it has left', () => requestPath.stats().queued === 0)
    calls.answer()
    await first
    await idle(requestPath)
    assert.equal(calls.started, 1)
  })

  it('holds the permit of a started call that its client cancels, but not forever', async () => {
    const { requestPath, calls, port } = await startGrpc()
    const call = clientOf(port).unary(Buffer.from('first'), () => {})
    await eventually('it has started', () => calls.started === 1)
    call.cancel()
    await eventually('it is abandoned', () => requestPath.stats().abandoned === 1)
    assert.equal(requestPath.stats().inflight, 1)
    await idle(requestPath)
  })

  it('holds the permit of a call that grpc-js ends at its deadline, but not forever', async () => {
    const { requestPath, calls, port } = await startGrpc()
    const session = http2.connect(`http://127.0.0.1:${port}`)
    try {
      // A client of grpc-js would cancel the call at the same time.
      const headers = {
        ':method': 'POST',
        ':path': '/test.Test/Unary',
        'content-type': 'application/grpc',
        te: 'trailers',
      }
      const call = session.request({ ...headers, 'grpc-timeout': '50m' })
      call.end(Buffer.from([0, 0, 0, 0, 1, 65]))
      const [answer] = await once(call.resume(), 'response')
      assert.equal(answer['grpc-status'], String(status.DEADLINE_EXCEEDED))
      assert.equal(calls.started, 1)
      await eventually('it is abandoned', () => requestPath.stats().abandoned === 1)
      assert.equal(requestPath.stats().inflight, 1)
      await idle(requestPath)
    } finally {
      session.destroy()
    }
  })

  it('sheds with UNAVAILABLE and a retry pushback', async () => {
    const { calls, port, requestPath } = await startGrpc({ tuning: { maxWaitMs: 5 } })
    const client = clientOf(port)
    void ask(client, 'first')
    await eventually('it has started', () => calls.started === 1)
    const { code, text, metadata } = await ask(client, 'second')
    assert.equal(code, status.UNAVAILABLE)
    assert.match(text, /is overloaded/)
    assert.ok(Number(metadata!.get('grpc-retry-pushback-ms')[0]) >= 1000)
    assert.equal(requestPath.stats().shed.late, 1)
    assert.equal(calls.started, 1)
  })

  it('is retried by clients with a retry policy after its retry pushback', async () => {
    const { calls, port, requestPath } = await startGrpc({ tuning: { maxWaitMs: 5 }, answer: { retryAfterS: [1, 1] } })
    const client = clientOf(port, {
      'grpc.service_config': JSON.stringify({
        methodConfig: [
          {
            name: [{}],
            retryPolicy: {
              maxAttempts: 2,
              initialBackoff: '0.001s',
              maxBackoff: '0.001s',
              backoffMultiplier: 1,
              retryableStatusCodes: ['UNAVAILABLE'],
            },
          },
        ],
      }),
    })
    void ask(client, 'first')
    await eventually('it has started', () => calls.started === 1)
    const askedAt = performance.now()
    const second = ask(client, 'second')
    await eventually('it was shed', () => requestPath.stats().shed.late === 1)
    calls.answer()
    await eventually('it has come again', () => calls.started === 2)
    assert.ok(performance.now() - askedAt >= 900)
    calls.answer()
    assert.deepEqual(await second, { code: status.OK, text: 'got second' })
  })

  it('answers unary calls while more endless streams than permits are open', async () => {
    const { requestPath, calls, port } = await startGrpc({ limit: 2 })
    const client = clientOf(port)
    for (let n = 0; n < 10; n++) {
      const endless = n % 2 === 0 ? client.serverStream(Buffer.from('for ever')) : client.bidi()
      endless.on('error', () => {}).on('data', () => {})
    }
    const answers = Array.from({ length: 5 }, (_, n) => ask(client, String(n)))
    await eventually('all are answered', () => {
      calls.answer()
      return calls.started === 5
    })
    calls.answer()
    for (const { code } of await Promise.all(answers)) assert.equal(code, status.OK)
    assert.equal(requestPath.stats().admitted, 15)
  })
})

async function protectedService(options: ProtectOptions) {
  let guard!: Guard
  const served = await serve(server => {
    guard = protect(server, { lanes: 1, ...options })
  })
  return { guard, ...served }
}

type Protected = Awaited<ReturnType<typeof protectedService>>

describe('a protected grpc-js service', () => {
  it('answers DEADLINE_EXCEEDED when the deadline has passed', async () => {
    const { port } = await protectedService({ deadlineMs: 50 })
    const client = clientOf(port)
    const { code, text } = await ask(client, 'slow')
    assert.equal(code, status.DEADLINE_EXCEEDED)
    assert.match(text, /not ready before the deadline/)
  })

  for (const [how, shutDown] of [
    ['drain() answers calls in service and waiting ones', ({ guard }: Protected) => guard.drain(5000)],
    [
      'tryShutdown() of grpc-js loses no call',
      ({ server }: Protected) => new Promise<boolean>(resolve => server.tryShutdown(() => resolve(true))),
    ],
  ] as const) {
    it(how, async () => {
      const service = await protectedService({ limit: 1, drainDelayMs: 0 })
      const { guard, calls, port } = service
      const client = clientOf(port)
      const answers = [ask(client, '1'), ask(client, '2')]
      await eventually('one is in service, one waits', () => guard.stats().inflight === 1 && guard.stats().queued === 1)
      const down = shutDown(service)
      await eventually('both have started', () => {
        calls.answer()
        return calls.started === 2
      })
      calls.answer()
      assert.deepEqual(
        (await Promise.all(answers)).map(({ code }) => code),
        [status.OK, status.OK],
      )
      assert.equal(await down, true)
    })
  }
})
