/**
 * GET /api/history: the stored positions, in pages, for replay. GET /api/history/span: the times of the first and the
 * last one.
 */
import { type Router, Router as router } from 'express'
import type { Pool } from 'pg'
import { databaseRefusal } from '../database/down.ts'
import { history, span } from '../positions/history.ts'
import { Refusal } from '../refusal.ts'

/** Maximum span of one request, ms: a week. */
const LONGEST_MS = 7 * 86_400_000

export function historyRoutes(reader: Pool): Router {
  const routes = router()

  routes.get('/api/history/span', async (_request, response) => {
    response.json(await span(reader).catch(databaseRefusal))
  })

  routes.get('/api/history', async (request, response) => {
    const from = time(request.query['from'], 'from')
    const to = time(request.query['to'], 'to')
    if (to < from || to - from > LONGEST_MS) {
      throw new Refusal(400, 'bad-span', 'to must be after from, by a week at most')
    }
    const after = request.query['after'] === undefined ? 0 : step(request.query['after'])
    response.json(await history(reader, { from, to, after }).catch(databaseRefusal))
  })
  return routes
}

/** Milliseconds since 1970. */
function time(given: unknown, name: string): number {
  const value = typeof given === 'string' && /^\d{1,14}$/.test(given) ? Number(given) : Number.NaN
  if (Number.isNaN(value)) throw new Refusal(400, 'bad-time', `${name} expects milliseconds since 1970`)
  return value
}

/** The step at which a page begins: `next` of the page before. */
function step(given: unknown): number {
  if (typeof given === 'string' && /^\d{1,6}$/.test(given)) return Number(given)
  throw new Refusal(400, 'bad-page', 'after expects what the page before said as next')
}
