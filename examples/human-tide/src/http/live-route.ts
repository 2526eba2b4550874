/** GET /api/live: the walkers, as they walk (server-sent events). */
import { type Router, Router as router } from 'express'
import type { Viewers } from '../live/viewers.ts'
import { Refusal } from '../refusal.ts'

export function liveRoute(viewers: Viewers): Router {
  return router().get('/api/live', (_request, response) => {
    if (viewers.full) throw new Refusal(503, 'too-many-viewers', 'Too many are watching; try again', {}, 10)
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    const leave = viewers.add(response)
    response.on('close', leave)
  })
}
