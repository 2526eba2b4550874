/**
 * An app with up to twenty faults that can overload a service. PLANTED names the faults of this run; each is a path, or
 * a property of the server. Every run has harmless paths (QUIET) too. FRAMEWORK is http, express or fastify; PG_PORT,
 * MYSQL_PORT and BACKEND are the addresses of its dependencies. bench/audit-planted.ts starts it.
 */
import { pbkdf2Sync } from 'node:crypto'
import http from 'node:http'
import { gzipSync } from 'node:zlib'
import express from 'express'
import { fastify } from 'fastify'
import mysql from 'mysql2/promise'
import pg from 'pg'

const { PG_PORT, MYSQL_PORT, BACKEND, PORT, FRAMEWORK, PLANTED } = process.env
const planted = new Set(PLANTED.split(',').filter(name => name !== ''))
const BOUND_MS = 2000

const pgAddress = { host: '127.0.0.1', port: Number(PG_PORT), user: 'postgres', password: 'secret' }
const mysqlAddress = { host: '127.0.0.1', port: Number(MYSQL_PORT), user: 'root' }
const bounded = new pg.Pool({ ...pgAddress, connectionTimeoutMillis: BOUND_MS, query_timeout: BOUND_MS })
const boundedWait = new pg.Pool({ ...pgAddress, connectionTimeoutMillis: BOUND_MS })
const boundedQuery = new pg.Pool({ ...pgAddress, query_timeout: BOUND_MS })
const boundedQueue = mysql.createPool({ ...mysqlAddress, queueLimit: 50 })
const endlessQueue = mysql.createPool({ ...mysqlAddress })
const narrow = new http.Agent({ keepAlive: true, maxSockets: 1 })
// Each of the five causes that hold the loop holds it for at least 80 ms on a core of 2024.
const large = JSON.stringify(Array.from({ length: 450_000 }, (_, id) => ({ id, name: `name ${id}`, tags: ['a', 'b'] })))
const backtracking = `${'a'.repeat(25)}!`

/** Waits for the end of a request, like a library. */
function ended(request) {
  return new Promise((resolve, reject) => {
    request.once('response', response => response.resume().once('end', resolve))
    request.once('error', reject)
    request.end()
  })
}

function timed(request) {
  return ended(request.once('timeout', () => request.destroy(new Error('too slow'))))
}

/** The causes that have a path, each under its name. The audit must name one of their lines. */
const PLANTS = {
  hashPassword: () => pbkdf2Sync('password', 'salt', 300_000, 64, 'sha512'),
  parseReport: () => JSON.parse(large),
  packAnswer: () => gzipSync(large),
  matchSlowly: () => /^(a+)+$/.test(backtracking),
  sortEverything: () => Array.from({ length: 450_000 }, (_, at) => (at * 7919) % 450_011).sort(),
  fetchPrice: async () => (await fetch(`${BACKEND}/price`)).text(),
  fetchPost: async () => (await fetch(`${BACKEND}/post`, { method: 'POST', body: 'order' })).text(),
  fetchBoth: async () => Promise.all([1, 2].map(async id => (await fetch(`${BACKEND}/both/${id}`)).text())),
  getStock: () => ended(http.request(`${BACKEND}/stock`)),
  postOrder: () => ended(http.request(`${BACKEND}/order`, { method: 'POST' })),
  queryUser: async () => (await boundedWait.query('select 1')).rows,
  queryInTransaction: async () => {
    const client = await boundedWait.connect()
    try {
      await client.query('begin')
      return await client.query('commit')
    } finally {
      client.release()
    }
  },
  waitForConnection: async () => (await boundedQuery.query('select 2')).rows,
  mysqlQuery: async () => (await boundedQueue.query('select 1'))[0],
  mysqlWait: async () => (await endlessQueue.query({ sql: 'select 1', timeout: BOUND_MS }))[0],
  queueAtAgent: () => timed(http.request(`${BACKEND}/narrow`, { agent: narrow, timeout: BOUND_MS })),
  logToStdout: () => console.log('asked'),
  logToStderr: () => process.stderr.write('asked\n'),
}

const QUIET = {
  hello: () => 'hello',
  user: async () => (await bounded.query('select 1 as one')).rows,
  price: async () => (await fetch(`${BACKEND}/`, { signal: AbortSignal.timeout(BOUND_MS) })).text(),
  stock: () => timed(http.request(`${BACKEND}/`, { timeout: BOUND_MS })),
}

const routes = Object.entries({ ...QUIET, ...PLANTS }).filter(([name]) => name in QUIET || planted.has(name))
const port = Number(PORT)
const without = planted.has('serverTimeouts')

let server
let close = closed => server.close(closed)
if (FRAMEWORK === 'express') {
  const app = express()
  for (const [name, act] of routes) {
    app.get(`/${name}`, async (_request, response) => {
      await act()
      response.send('ok')
    })
  }
  server = app.listen(port)
} else if (FRAMEWORK === 'fastify') {
  const app = fastify({ requestTimeout: 30_000 })
  for (const [name, act] of routes) {
    app.get(`/${name}`, async () => {
      await act()
      return 'ok'
    })
  }
  await app.listen({ port })
  server = app.server
  close = closed => app.close().then(closed)
} else {
  const acts = new Map(routes)
  server = http.createServer(async (request, response) => {
    try {
      await acts.get(request.url.slice(1))?.()
    } catch {
      response.statusCode = 500
    }
    response.end('ok')
  })
  server.listen(port)
}
if (without) server.requestTimeout = 0
if (!planted.has('noDrain')) {
  process.once('SIGTERM', () => {
    const pools = [bounded, boundedWait, boundedQuery, boundedQueue, endlessQueue]
    // Connections of Fastify last 72 s, unless Fastify itself closes the server.
    close(() => Promise.all(pools.map(pool => pool.end())))
  })
}
