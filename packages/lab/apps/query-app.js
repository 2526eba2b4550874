/**
 * A service with one query per request over a pool of connections. One query in SLEEP_EVERY sleeps, like a query that
 * waits for a lock or has a bad plan.
 *
 * DATABASE_URL, POOL, QUERY_MS, SLEEP_EVERY, SLEEP_MS, LIMIT_MS
 * ARM=bare       pool.query()
 * ARM=naive      the same, raced against a timer
 * ARM=meltproof  the same over bound(pool)
 */
import http from 'node:http'
import pg from 'pg'
import { arm, limitMs, sendError } from './hop.js'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: Number(process.env.POOL) })
pool.on('error', () => {}) // The server closes idle connections at the end of the run.
if (arm === 'meltproof') {
  const { bound } = await import('meltproof/pg')
  bound(pool, { queryMs: limitMs, acquireMs: limitMs })
}
const sleepEvery = Number(process.env.SLEEP_EVERY)
const quick = Number(process.env.QUERY_MS) / 1000
const long = Number(process.env.SLEEP_MS) / 1000
let seen = 0

function query() {
  const seconds = ++seen % sleepEvery === 0 ? long : quick
  const rows = pool.query('select pg_sleep($1)', [seconds])
  return arm === 'naive' ? raced(rows) : rows
}

async function raced(promise) {
  let timer
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`timeout of ${limitMs} ms exceeded`)), limitMs)
  })
  promise.catch(() => {}) // If the timer wins, a later rejection has no other handler.
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

const server = http.createServer(async (_request, response) => {
  try {
    await query()
    response.end('a row')
  } catch (error) {
    sendError(response, error)
  }
})
server.listen(Number(process.env.PORT), '127.0.0.1', 4096)
