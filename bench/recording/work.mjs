/**
 * The work of a request in each recorded workload, with its notes (notes.mjs). The same work as in
 * packages/lab/apps/overload/work.js.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import pg from 'pg'
import { spin, spinPerMs } from '../../packages/lab/apps/busy.js'
import { renderPage } from '../../packages/lab/apps/overload/page.js'

const perMs = spinPerMs()

async function spinning(own, slices, ms) {
  for (let slice = 0; slice < slices; slice++) {
    await own.yields()
    own.begins()
    spin(perMs * ms)
    own.ends()
  }
  return 'done\n'
}

function simulatedPool(size, holdMs) {
  const waiting = []
  let held = 0
  return async own => {
    if (held >= size) await new Promise(resolve => waiting.push(resolve))
    held++
    await own.holding(() => sleep(holdMs))
    held--
    waiting.shift()?.()
    return 'held\n'
  }
}

async function database() {
  const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 })
  // Connecting is no part of a request, so all connections exist before the first request.
  const clients = await Promise.all(Array.from({ length: 10 }, () => pool.connect()))
  for (const client of clients) client.release()
  return async own => {
    const client = await pool.connect()
    try {
      await own.holding(() => client.query('select pg_sleep(0.05)'))
    } finally {
      client.release()
    }
    return 'slept\n'
  }
}

/** Reads 2,400 lines of orders, prices them, and answers with their totals. Uses Express with its own JSON. */
function orders() {
  const catalogue = new Map(
    Array.from({ length: 2000 }, (_, id) => [`sku-${id}`, { name: `Product ${id}`, cents: 199 + ((id * 37) % 5000) }]),
  )
  const stored = JSON.stringify(
    Array.from({ length: 2400 }, (_, i) => ({ sku: `sku-${(i * 7) % 2000}`, count: 1 + (i % 4), note: `line ${i}` })),
  )
  const app = express()
  app.get('/', (_, response) => {
    const lines = JSON.parse(stored).map(line => ({ ...line, ...catalogue.get(line.sku) }))
    const byProduct = Map.groupBy(lines, line => line.sku)
    const totals = [...byProduct.values()].map(of => ({
      sku: of[0].sku,
      name: of[0].name.toUpperCase(),
      cents: of.reduce((sum, line) => sum + line.cents * line.count, 0),
    }))
    totals.sort((a, b) => b.cents - a.cents || a.sku.localeCompare(b.sku))
    response.json({ lines, totals })
  })
  return app
}

const WORK = {
  steps: () => own => spinning(own, 5, 1),
  sync: () => async () => {
    spin(perMs * 20)
    return 'done\n'
  },
  mixed: () => async (own, url) => {
    if (url !== '/cheap') return spinning(own, 4, 5)
    spin(perMs * 0.2)
    return 'cheap\n'
  },
  render: () => async () => renderPage(),
  pool: () => simulatedPool(10, 50),
  database,
}

/** A listener for 'request' that notes its work. */
export async function listenerOf(app, notes, kindOf) {
  if (app === 'orders') {
    const listener = orders()
    return (request, response) => {
      const own = notes.starts(kindOf(request.url))
      own.begins()
      listener(request, response)
      own.ends()
    }
  }
  const make = WORK[app]
  if (make === undefined) throw new Error(`unknown app ${app}; known: orders, ${Object.keys(WORK).join(', ')}`)
  const work = await make()
  return (request, response) => {
    const own = notes.starts(kindOf(request.url))
    own.begins()
    const working = work(own, request.url)
    own.ends()
    working.then(
      body => {
        own.begins()
        response.setHeader('content-type', 'text/html; charset=utf-8')
        response.end(body)
        own.ends()
      },
      error => {
        response.statusCode = 500
        response.end(`${error}\n`)
      },
    )
  }
}
