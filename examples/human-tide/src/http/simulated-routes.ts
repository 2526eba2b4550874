/** POST and DELETE /api/simulated: adds a hundred simulated walkers to an empty shore, and removes them. */
import { type Request, type RequestHandler, type Router, Router as router } from 'express'
import { isThisComputer } from '../lan.ts'
import type { Shore } from '../live/shore.ts'
import { Refusal } from '../refusal.ts'
import type { SimulatedWalkers } from '../simulated/simulated-walkers.ts'

/** Only the computer that runs the service may simulate walkers. */
export const maySimulate = (request: Request): boolean => isThisComputer(request.ip)

export function simulatedRoutes(walkers: SimulatedWalkers, shore: Shore): Router {
  return router()
    .all('/api/simulated', onlyHere)
    .post('/api/simulated', async (_request, response) => {
      if (shore.walking(Date.now()) > 0) throw new Refusal(409, 'not-empty', 'People walk here already')
      await walkers.start()
      response.status(204).end()
    })
    .delete('/api/simulated', async (_request, response) => {
      await walkers.stop()
      response.status(204).end()
    })
}

export const onlyHere: RequestHandler = (request, _response, next) => {
  // Any page open on this computer can send a POST here. The browser reports its site; `none` is a typed address.
  const from = request.get('sec-fetch-site') ?? 'same-origin'
  if (maySimulate(request) && (from === 'same-origin' || from === 'none')) return next()
  throw new Refusal(403, 'not-here', 'Only the computer that runs the service may do this')
}
