/**
 * The same tests for every framework: routes have names, an exceeded deadline becomes a 504, and the app's error
 * handler decides about other errors.
 */
import assert from 'node:assert/strict'
import http from 'node:http'
import { after, test } from 'node:test'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { meltproof as forExpress } from '../../src/adapters/express.ts'
import { meltproof as forFastify } from '../../src/adapters/fastify.ts'
import { meltproof as forHono } from '../../src/adapters/hono.ts'
import { meltproof as forKoa } from '../../src/adapters/koa.ts'
import { type RequestMessage, requests } from '../../src/channels.ts'
import { DeadlineExceededError } from '../../src/deadline/deadline-error.ts'
import { onHandlerEnd } from '../../src/request-notes.ts'
import { protect } from '../../src/server/protect.ts'
import { eventually, listen } from '../server/harness.ts'

const seen: RequestMessage[] = []
const see = (message: RequestMessage): void => {
  seen.push(message)
}
requests.subscribe(see)
after(() => requests.unsubscribe(see))

const late = (): never => {
  throw new DeadlineExceededError({ phase: 'total', limitMs: 10, waitedMs: 10, ownStallMs: 0 })
}
const broken = (): never => {
  throw Object.assign(new Error('broken'), { expose: false })
}

/** The status that the app's error handler sends. */
const OWN = 418

interface App {
  /** Serves /api/users/:id, /api/late, which exceeds a deadline, and /api/broken, which throws another error. */
  server(own: boolean): Promise<http.Server>
  /** Whether the framework shows when a handler has ended. */
  readonly tellsEnd: boolean
}

const apps: Record<string, App> = {
  express: {
    tellsEnd: false,
    server: async own => {
      const app = express()
      app.use(forExpress())
      const api = express.Router()
      api.get('/users/:id', (_, response) => void response.send('user'))
      app.use('/api', api)
      app.get('/api/late', late)
      app.get('/api/broken', broken)
      app.set('env', 'test')
      const answer: express.ErrorRequestHandler = (_, __, response, ___) => void response.sendStatus(OWN)
      if (own) app.use(answer)
      return http.createServer(app)
    },
  },
  fastify: {
    tellsEnd: true,
    server: async own => {
      const app = Fastify()
      await app.register(forFastify)
      app.get('/api/users/:id', async () => 'user')
      app.get('/api/late', async () => late())
      app.get('/api/broken', async () => broken())
      if (own) app.setErrorHandler((_, __, reply) => reply.code(OWN).send())
      await app.ready()
      return app.server
    },
  },
  koa: {
    tellsEnd: true,
    server: async own => {
      const app = new Koa()
      app.silent = true
      app.use(forKoa())
      app.use(async (context, next) => {
        await next().catch(error => {
          if (!own) throw error
          context.status = OWN
        })
      })
      app.use(async context => {
        if (context.path === '/api/late') late()
        if (context.path === '/api/broken') broken()
        // koa's routers set this property.
        if (context.path.startsWith('/api/users/')) Object.assign(context, { _matchedRoute: '/api/users/:id' })
        context.body = 'user'
      })
      return http.createServer(app.callback())
    },
  },
  hono: {
    tellsEnd: true,
    server: async own => {
      const app = new Hono()
      app.use(forHono())
      app.get('/api/users/:id', context => context.text('user'))
      app.get('/api/late', () => late())
      app.get('/api/broken', () => broken())
      if (own) app.onError((_, context) => context.text('own', OWN))
      return http.createServer(getRequestListener(app.fetch))
    },
  },
}

for (const [name, { server: make, tellsEnd }] of Object.entries(apps)) {
  test(`${name}: names routes, answers 504 for an exceeded deadline, and leaves other errors to the app`, async t => {
    t.mock.method(console, 'error', () => undefined)
    const asking = async (own: boolean): Promise<(path: string) => Promise<number>> => {
      const server = await make(own)
      protect(server)
      const { port } = await listen(server)
      return async path => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`)
        await answer.text()
        return answer.status
      }
    }
    const status = await asking(false)
    seen.splice(0)
    assert.equal(await status('/api/users/42?q=1'), 200)
    await eventually('its record', () => seen.length === 1)
    const { record, request } = seen[0]!
    assert.equal(record.route, '/api/users/:id')
    assert.equal(
      onHandlerEnd(request, () => undefined),
      tellsEnd,
    )
    assert.equal(await status('/api/late'), 504)
    assert.equal(await status('/api/broken'), 500)

    const ownStatus = await asking(true)
    assert.equal(await ownStatus('/api/late'), OWN)
    assert.equal(await ownStatus('/api/broken'), OWN)
  })
}

test('fastify: reports the end of a WebSocket handler, which gets the socket before the request', async () => {
  const app = Fastify()
  await app.register(forFastify)
  const requested: object[] = []
  // @fastify/websocket, registered after the adapter, calls handlers like this.
  app.addHook('onRoute', route => {
    const { handler } = route
    route.handler = function (request) {
      requested.push(request.raw)
      return Reflect.apply(handler, this, [{}, request])
    }
  })
  app.get('/', async () => 'ended')
  assert.equal((await app.inject('/')).body, 'ended')
  assert.deepEqual(
    requested.map(request => onHandlerEnd(request, () => undefined)),
    [true],
  )
})

test('hono: a 500 answered by the error handler of the app stays as it is', async () => {
  const app = new Hono()
  app.use(forHono())
  app.get('/late', () => late())
  app.onError((_, context) => context.json({ sorry: true }, 500))
  const answer = await app.request('/late')
  assert.deepEqual([answer.status, await answer.json()], [500, { sorry: true }])
})
