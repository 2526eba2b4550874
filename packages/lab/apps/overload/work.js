/** The work of one request, by workload. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import { burn } from '../burst-work.js'
import { spin, spinPerMs } from '../busy.js'
import { renderPage } from './page.js'

const perMs = spinPerMs()
const turn = () => new Promise(resolve => setImmediate(resolve))

async function steps() {
  await burn()
  return 'That was five milliseconds of work.\n'
}

function simulatedPool(size, holdMs) {
  const waiting = []
  let held = 0
  return async () => {
    if (held >= size) await new Promise(resolve => waiting.push(resolve))
    held++
    await sleep(typeof holdMs === 'function' ? holdMs() : holdMs)
    held--
    waiting.shift()?.()
    return 'held\n'
  }
}

/** A pool that gives no answer from the fourth second to the ninth after the first request to `/outage`. */
function poolWithOutage(size, holdMs) {
  const pool = simulatedPool(size, () => {
    const nowMs = performance.now() - beganMs
    return nowMs >= 4_000 && nowMs < 9_000 ? 9_000 - nowMs + holdMs : holdMs
  })
  let beganMs = Number.NaN
  return path => {
    if (path === '/outage' && Number.isNaN(beganMs)) beganMs = performance.now()
    return pool()
  }
}

function database() {
  const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 })
  return async () => {
    await pool.query('select pg_sleep(0.05)')
    return 'slept\n'
  }
}

function oneInTenSlow() {
  let count = 0
  return async path => {
    if (path !== '/quick' && ++count % 10 === 0) {
      await sleep(10_000)
      return 'That took ten seconds.\n'
    }
    return steps()
  }
}

function withStalls() {
  setInterval(() => spin(perMs * 200), 5_000).unref()
  return steps
}

const WORK = {
  steps: () => steps,
  neighbour: () => steps,
  quick: () => async () => {
    spin(perMs * 0.2)
    return 'quick\n'
  },
  sync: () => async () => {
    spin(perMs * 20)
    return 'That was twenty milliseconds of work.\n'
  },
  database,
  pool: () => simulatedPool(10, 50),
  impatient: () => simulatedPool(10, 50),
  forged: () => simulatedPool(10, 50),
  outage: () => poolWithOutage(10, 50),
  mixed: () => async path => {
    if (path === '/cheap') {
      spin(perMs * 0.2)
      return 'cheap\n'
    }
    for (let step = 0; step < 4; step++) {
      await turn()
      spin(perMs * 5)
    }
    return 'heavy\n'
  },
  'random-paths': () => steps,
  waiting: () => async path => {
    if (path === '/health') return 'well\n'
    await sleep(5_000)
    return 'That took five seconds.\n'
  },
  tail: oneInTenSlow,
  render: () => async () => renderPage(),
  stalls: withStalls,
}

export function workOf(workload) {
  const make = WORK[workload]
  if (make === undefined) throw new Error(`unknown workload ${workload}; known: ${Object.keys(WORK).join(', ')}`)
  return make()
}
