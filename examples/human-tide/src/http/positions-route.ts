/**
 * POST /api/positions stores positions. A 200 means that all of them are committed: `stored` of them are new, and
 * `known` were stored before and stay unchanged.
 */
import express, { type Router } from 'express'
import type { Shore } from '../live/shore.ts'
import { parseReport } from '../positions/report.ts'
import type { Store } from '../positions/store.ts'
import { PhoneQuota } from '../quota.ts'
import { Refusal } from '../refusal.ts'
import { walkerOf } from './phone-key.ts'

/** A hundred positions are about 10 KB. */
const readBody = express.json({ limit: '32kb', inflate: false })

export function positionsRoute(store: Store, shore: Shore): Router {
  const quota = new PhoneQuota()
  const router = express.Router()

  router.post(
    '/api/positions',
    (request, response, next) => {
      // Before the body is read, so that rejecting a flood costs no more than reading its headers.
      const walker = walkerOf(request)
      const waitMs = quota.take(walker, performance.now())
      if (waitMs > 0) {
        const seconds = Math.ceil(waitMs / 1000)
        throw new Refusal(429, 'too-often', `This phone sends too often; wait ${seconds} s`, {}, seconds)
      }
      response.locals['walker'] = walker
      next()
    },
    readBody,
    async (request, response) => {
      if (request.body === undefined) throw new Refusal(415, 'not-json', 'Send application/json')
      const now = Date.now()
      const walker: string = response.locals['walker']
      const report = parseReport(request.body, now)
      const stored = await store.keep(walker, report)
      if (stored.length > 0) shore.move(walker, { ...report, positions: stored }, now)
      response.json({ stored: stored.length, known: report.positions.length - stored.length, serverTime: now })
    },
  )

  // Withdraws consent: deletes everything that this phone has sent.
  router.delete('/api/walker', async (request, response) => {
    const walker = walkerOf(request)
    await store.forget(walker)
    shore.forget(walker)
    response.status(204).end()
  })
  return router
}
