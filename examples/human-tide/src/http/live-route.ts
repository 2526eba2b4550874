/** GET /api/live: the walkers, as they walk (server-sent events). */
import { type Router, Router as router } from 'express'
import type { Viewers } from '../live/viewers.ts'
import { Refusal } from '../refusal.ts'
import { clientOf } from './client-address.ts'

/** Retry-After, s. A place becomes free when a viewer leaves, which cannot be predicted. */
const COME_BACK_S = 10

export function liveRoute(viewers: Viewers): Router {
  return router().get('/api/live', (request, response) => {
    const client = clientOf(request.ip)
    const full = viewers.fullFor(client)
    if (full === 'for all') throw new Refusal(503, 'too-many-viewers', 'Too many are watching', {}, COME_BACK_S)
    if (full === 'for you') {
      throw new Refusal(429, 'too-many-viewers', 'Too many are watching from your address', {}, COME_BACK_S)
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    // Express passes HEAD requests to the route of GET. They are answered here, and take no place.
    if (request.method === 'HEAD') return void response.end()
    response.on('close', viewers.add(response, client))
  })
}
