/**
 * Frameworks attached before and after the gate: requests are served as without it, shed before the framework sees
 * them, and closing works.
 */
import assert from 'node:assert/strict'
import http from 'node:http'
import https from 'node:https'
import { describe, it } from 'node:test'
import { createAdaptorServer } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { pathOn, eventually, Holding, type Service, listen } from './harness.ts'
import { CERTIFICATE } from './tls.fixture.ts'

/** Creates a server whose `/hold` responds with the text of `hold`. Calls `guard` before it listens. */
type Make = (hold: () => Promise<string>, guard: (server: http.Server) => void) => Promise<http.Server>

type Emit = (this: http.Server, event: string, ...args: unknown[]) => boolean

const guarded = (server: http.Server, guard: (server: http.Server) => void): http.Server => {
  guard(server)
  return server
}

function expressApp(hold: () => Promise<string>): express.Express {
  const app = express().set('env', 'test')
  app.use(express.json())
  app.get('/hold', async (_request, response) => void response.send(await hold()))
  app.post('/echo', (request, response) => void response.json(request.body))
  app.get('/broken', async () => {
    throw new Error('the app’s own')
  })
  return app
}

function koaApp(hold: () => Promise<string>): Koa {
  const app = new Koa()
  app.silent = true
  app.use(async context => {
    if (context.path === '/hold') context.body = await hold()
    else if (context.path === '/broken') throw new Error('the app’s own')
    else {
      context.type = 'application/json'
      context.body = context.req
    }
  })
  return app
}

function honoApp(hold: () => Promise<string>): Hono {
  const app = new Hono()
  app.onError((_error, context) => context.text('broken', 500))
  app.get('/hold', async context => context.text(await hold()))
  app.post('/echo', async context => context.json(await context.req.json()))
  app.get('/broken', () => {
    throw new Error('the app’s own')
  })
  return app
}

async function fastifyApp(hold: () => Promise<string>, options: object): Promise<{ server: http.Server }> {
  const app = fastify(options)
  app.get('/hold', hold)
  app.post('/echo', async request => request.body)
  app.get('/broken', async () => {
    throw new Error('the app’s own')
  })
  await app.ready()
  return app
}

function plainApp(hold: () => Promise<string>): http.RequestListener {
  return async (request, response) => {
    if (request.url === '/broken') return void response.writeHead(500).end()
    if (request.url === '/hold') return void response.end(await hold())
    response.writeHead(200, { 'content-type': 'application/json' })
    request.pipe(response)
  }
}

const MAKES: Record<string, Make> = {
  'node:http, app first': async (hold, guard) => guarded(http.createServer(plainApp(hold)), guard),
  'node:http, guard first': async (hold, guard) => guarded(http.createServer(), guard).on('request', plainApp(hold)),
  'node:https': async (hold, guard) => guarded(https.createServer(CERTIFICATE, plainApp(hold)), guard),
  'Express, app first': async (hold, guard) => guarded(http.createServer(expressApp(hold)), guard),
  'Express, guard first': async (hold, guard) => guarded(http.createServer(), guard).on('request', expressApp(hold)),
  'Koa, app first': async (hold, guard) => guarded(http.createServer(koaApp(hold).callback()), guard),
  'Koa, guard first': async (hold, guard) => guarded(http.createServer(), guard).on('request', koaApp(hold).callback()),
  Hono: async (hold, guard) =>
    guarded(createAdaptorServer({ fetch: honoApp(hold).fetch, createServer: http.createServer }) as http.Server, guard),
  'Fastify, fastify.server': async (hold, guard) => guarded((await fastifyApp(hold, {})).server, guard),
  'Fastify, serverFactory': async (hold, guard) => {
    const serverFactory = (handler: http.RequestListener): http.Server => guarded(http.createServer(handler), guard)
    return (await fastifyApp(hold, { serverFactory })).server
  },
  'a wrapped emit': async (hold, guard) => {
    const server = http.createServer(plainApp(hold))
    const emit = server.emit as Emit
    server.emit = (event: string, ...args: unknown[]) => emit.call(server, event, ...args)
    return guarded(server, guard)
  },
}

for (const [name, make] of Object.entries(MAKES)) {
  describe(name, () => {
    const start = async (limit: number) => {
      const holding = new Holding()
      const holds: ((text: string) => void)[] = []
      const hold = (): Promise<string> => new Promise(resolve => holds.push(resolve))
      let requestPath: ReturnType<typeof pathOn> | undefined
      const server = await make(hold, made => {
        requestPath = pathOn(made, { limit, tuning: { maxQueued: 1 } })
      })
      const service: Service = await listen(server)
      return { ...service, requestPath: requestPath!, holding, holds }
    }

    it('serves requests through the gate', async () => {
      const service = await start(100)
      const client = await service.connect()
      const text = JSON.stringify({ long: 'x'.repeat(20_000) })
      const post = `POST /echo HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: ${text.length}`
      for (let i = 0; i < 3; i++) {
        const answer = await client.send(`${post}\r\n\r\n${text}`).answer()
        assert.equal(answer.status, 200)
        assert.equal(answer.body, text)
      }
      assert.equal((await client.get('/broken').answer()).status, 500)
      assert.equal(service.requestPath.stats().admitted, 4)
      await eventually('nothing is held', () => service.requestPath.stats().inflight === 0)
    })

    it('queues and sheds requests before the framework sees them', async () => {
      const service = await start(1)
      const [first, second, third] = [await service.connect(), await service.connect(), await service.connect()]
      first.get('/hold')
      await eventually('one is in service', () => service.holds.length === 1)
      second.get('/hold')
      await eventually('one waits', () => service.requestPath.stats().queued === 1)
      assert.equal((await third.get('/hold').answer()).status, 503)
      service.holds[0]!('first')
      assert.equal((await first.answer()).body, 'first')
      await eventually('the next is in service', () => service.holds.length === 2)
      service.holds[1]!('second')
      assert.equal((await second.answer()).body, 'second')
      await eventually('nothing is held', () => service.requestPath.stats().inflight === 0)
    })
  })
}

describe('a tracer that patches http.Server.prototype.emit after the gate was made', () => {
  it('still sees every admitted request', async () => {
    const server = http.createServer((_, response) => response.end())
    pathOn(server, { limit: 10 })
    const emit = http.Server.prototype.emit as Emit
    const seen: string[] = []
    http.Server.prototype.emit = function (this: http.Server, event: string, ...args: unknown[]) {
      if (this === server) seen.push(event)
      return emit.call(this, event, ...args)
    }
    try {
      const service = await listen(server)
      const client = await service.connect()
      assert.equal((await client.get('/').answer()).status, 200)
    } finally {
      http.Server.prototype.emit = emit
    }
    assert.deepEqual(seen, ['listening', 'connection', 'request'])
  })
})
