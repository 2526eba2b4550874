/**
 * The process under fuzz: a plain node:http server and a Fastify app, each under protect() with its defaults. Tells its
 * parent the ports, and on request how it is. FUZZ_SABOTAGE breaks it on purpose, so that the fuzz can be tested.
 */
import { once } from 'node:events'
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { type Guard, protect } from '../src/index.ts'
import { PATIENCE_MS } from './client.ts'
import { startScrapes } from './scrapes.ts'

export interface TargetHealth {
  readonly inflight: number
  readonly queued: number
  readonly connections: number
  /** node:http, Fastify. */
  readonly connectionsOf: readonly number[]
  /** Requests that the two apps have seen. */
  readonly seen: number
  readonly shed: number
  /** After a full garbage collection, bytes. */
  readonly heapBytes: number
  readonly rssBytes: number
  /** What must never be: exceptions, notes of meltproof's, and metrics that Prometheus could not read. */
  readonly troubles: readonly string[]
}

const sabotage = process.env['FUZZ_SABOTAGE']
const troubles: string[] = []
const leaked: object[] = []
let seen = 0
let pooled = 0
const poolQueue: (() => void)[] = []

process.on('uncaughtException', error => trouble(`uncaught: ${error.stack}`))
process.on('unhandledRejection', reason => trouble(`unhandled: ${String(reason)}`))
process.on('warning', warning => trouble(`warning: ${warning.name}: ${warning.message}`))

function trouble(text: string): void {
  // The first ones tell the story.
  if (troubles.length < 20) troubles.push(text)
}

/** Counts a request in and out, and gives its answer an id to recognise it by. */
function enter(request: IncomingMessage, response: ServerResponse): string {
  seen++
  if (request.url === '/smuggled') trouble('a request that stood in a body reached the app')
  if (sabotage === 'leak') leaked.push({ of: seen, bytes: new Array(1000).fill(seen) })
  if (sabotage === 'throw' && seen === 500) process.nextTick(() => Promise.reject(new Error('sabotage')))
  const [, behaviour = '', id = ''] = (request.url ?? '').split('/')
  // It may be anything that a mutated path holds.
  const known = /^\d+$/.test(id) ? id : '0'
  response.setHeader('x-id', sabotage === 'swap' && seen % 1000 === 0 ? `${known}0` : known)
  return behaviour
}

/** A dependency that serves eight at a time, 2 ms each: overload that the loop's lag does not show. */
async function dependency(): Promise<void> {
  if (pooled >= 8) await new Promise<void>(resolve => poolQueue.push(resolve))
  pooled++
  await new Promise(resolve => setTimeout(resolve, 2))
  pooled--
  poolQueue.shift()?.()
}

function burn(): void {
  const until = performance.now() + 2
  while (performance.now() < until);
}

async function readAll(request: IncomingMessage): Promise<number> {
  let length = 0
  for await (const chunk of request) length += (chunk as Buffer).length
  return length
}

async function answer(behaviour: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  switch (behaviour) {
    case 'wait':
      await dependency()
      break
    case 'head-first':
      response.writeHead(200).flushHeaders()
      await dependency()
      break
    case 'flow':
      request.resume()
      await dependency()
      break
    case 'give-up':
      await dependency()
      if (response.destroyed) return
      break
    case 'burn':
      burn()
      break
    case 'echo':
      response.setHeader('x-length', await readAll(request))
      break
    case 'late-read':
      await dependency()
      await readAll(request)
      break
    case 'stream':
      for (let i = 0; i < 5; i++) {
        response.write(`part ${i}\n`)
        await new Promise(resolve => setImmediate(resolve))
      }
      break
    case 'big':
      response.end('big'.repeat(20_000))
      return
  }
  response.end('ok\n')
}

function listener(request: IncomingMessage, response: ServerResponse): void {
  // A body that breaks off makes reading fail: the client is gone, and so is the answer.
  answer(enter(request, response), request, response).catch(() => response.destroy())
}

function plain(): Server {
  const server = http.createServer({ connectionsCheckingInterval: 500 }, listener)
  server.on('upgrade', (_, socket) => {
    socket.on('error', () => {})
    // What a client sends after its handshake must be read, or its leaving is never seen: on a bare server, too.
    socket.resume()
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello')
  })
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    response.writeContinue()
    server.emit('request', request, response)
  })
  return server
}

function framework(): { readonly server: Server; listen(): Promise<unknown> } {
  const app = fastify({ http: { connectionsCheckingInterval: 500 } })
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.all('/*', async (request, reply) => {
    reply.hijack()
    listener(request.raw, reply.raw)
  })
  app.setNotFoundHandler((request, reply) => {
    enter(request.raw, reply.raw)
    void reply.code(200).send('not found\n')
  })
  return { server: app.server, listen: () => app.listen({ port: 0, host: '127.0.0.1' }) }
}

const http1 = plain()
const fast = framework()
const servers = [http1, fast.server]
const guards: Guard[] = []
for (const server of servers) {
  // Short, so that slow clients meet them within the run.
  server.headersTimeout = PATIENCE_MS
  server.requestTimeout = 4_000
  server.keepAliveTimeout = 3_000
  guards.push(protect(server, { onWarning: text => trouble(`note: ${text}`) }))
}
startScrapes(guards, trouble, text => (sabotage === 'repeat' ? text.replace(/^(\w+\{.*\n)/m, '$1$1') : text))
http1.listen(0, '127.0.0.1')
await Promise.all([once(http1, 'listening'), fast.listen()])
process.send!({ ports: servers.map(server => (server.address() as AddressInfo).port) })

async function health(): Promise<TargetHealth> {
  const counts = await Promise.all(
    servers.map(server => new Promise<number>(resolve => server.getConnections((_, count) => resolve(count ?? 0)))),
  )
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  // Closed sockets let go of what they hold over some turns of the loop, and finalizers leave garbage of their own.
  for (let round = 0; round < 3; round++) {
    await new Promise(resolve => setTimeout(resolve, 100))
    globalThis.gc!()
  }
  // After the garbage collector has said which handlers gave up.
  const stats = guards.map(guard => guard.stats())
  const memory = process.memoryUsage()
  return {
    inflight: sum(stats.map(each => each.inflight)),
    queued: sum(stats.map(each => each.queued)),
    connections: sum(counts),
    connectionsOf: counts,
    seen,
    shed: sum(stats.flatMap(each => Object.values(each.shed))),
    heapBytes: memory.heapUsed + memory.external,
    rssBytes: memory.rss,
    troubles,
  }
}

process.on('message', () => void health().then(report => process.send!(report)))
process.on('disconnect', () => process.exit())
