/** One suite for every framework: routes have names, a passed deadline is a 504, other errors stay what they were. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { after, test } from 'node:test'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import * as forExpress from '../../src/adapters/express.ts'
import { meltproof as forFastify } from '../../src/adapters/fastify.ts'
import * as forHono from '../../src/adapters/hono.ts'
import { meltproof as forKoa } from '../../src/adapters/koa.ts'
import { type RequestMessage, requests } from '../../src/channels.ts'
import { DeadlineExceededError } from '../../src/deadline/deadline-error.ts'
import { protect } from '../../src/server/protect.ts'
import { eventually, listen } from '../server/harness.ts'

const seen: RequestMessage['record'][] = []
const see = ({ record }: RequestMessage): void => {
  seen.push(record)
}
requests.subscribe(see)
after(() => requests.unsubscribe(see))

const late = (): never => {
  throw new DeadlineExceededError({ phase: 'total', limitMs: 10, waitedMs: 10, ownStallMs: 0 })
}
const broken = (): never => {
  throw Object.assign(new Error('broken'), { expose: false })
}

/** Each app has /users/:id, /late, which runs into a deadline, and /broken, which throws something else. */
const apps: Record<string, { server: () => Promise<http.Server>; users: string }> = {
  express: {
    users: '/api/users/:id',
    server: async () => {
      const app = express()
      app.use(forExpress.routeNames())
      const api = express.Router()
      api.get('/users/:id', (_, response) => void response.send('user'))
      app.use('/api', api)
      app.get('/api/late', late)
      app.get('/api/broken', broken)
      app.use(forExpress.deadlineErrors())
      app.set('env', 'test')
      return http.createServer(app)
    },
  },
  fastify: {
    users: '/api/users/:id',
    server: async () => {
      const app = Fastify()
      await app.register(forFastify)
      app.get('/api/users/:id', async () => 'user')
      app.get('/api/late', async () => late())
      app.get('/api/broken', async () => broken())
      await app.ready()
      return app.server
    },
  },
  koa: {
    users: '/api/users/:id',
    server: async () => {
      const app = new Koa()
      app.silent = true
      app.use(forKoa())
      app.use(async context => {
        if (context.path === '/api/late') late()
        if (context.path === '/api/broken') broken()
        // As the routers do.
        if (context.path.startsWith('/api/users/')) Object.assign(context, { _matchedRoute: '/api/users/:id' })
        context.body = 'user'
      })
      return http.createServer(app.callback())
    },
  },
  hono: {
    users: '/api/users/:id',
    server: async () => {
      const app = new Hono()
      app.use(forHono.routeNames())
      app.get('/api/users/:id', context => context.text('user'))
      app.get('/api/late', () => late())
      app.get('/api/broken', () => broken())
      app.onError(forHono.deadlineErrors())
      return http.createServer(getRequestListener(app.fetch))
    },
  },
}

for (const [name, { server: make, users }] of Object.entries(apps)) {
  test(`${name}: routes, deadlines, other errors`, async t => {
    t.mock.method(console, 'error', () => undefined)
    const server = await make()
    protect(server)
    const { port } = await listen(server)
    const status = async (path: string): Promise<number> => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      await answer.text()
      return answer.status
    }
    seen.splice(0)
    assert.equal(await status('/api/users/42?q=1'), 200)
    await eventually('its record', () => seen.length === 1)
    assert.equal(seen[0]?.route, users)
    assert.equal(await status('/api/late'), 504)
    assert.equal(await status('/api/broken'), 500)
  })
}
