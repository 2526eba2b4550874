/** /storm/: the page of the storm and what it asks for, handed on to the process that has them. This computer only. */
import http from 'node:http'
import { pipeline } from 'node:stream/promises'
import { type Request, type RequestHandler, type Router, Router as router } from 'express'
import { isLocalName } from '../lan.ts'
import { Refusal } from '../refusal.ts'
import type { Storm } from '../storm.ts'
import { maySimulate, onlyHere } from './simulated-routes.ts'

/** It loads this computer: not for guests, nor for a page that calls itself by another name. Windows has no blocking pipes. */
export const mayStorm = (request: Request): boolean =>
  maySimulate(request) && isLocalName(request.host) && process.platform !== 'win32'

export function stormRoute(storm: Storm): Router {
  const handOn: RequestHandler = async (request, response) => {
    if (!mayStorm(request)) throw new Refusal(403, 'not-here', 'Only the computer that runs the service may do this')
    response.once('close', () => storm.release())
    const port = await storm.hold().catch(() => {
      throw new Refusal(503, 'no-storm', 'The storm does not start; another one may run: the terminal says more')
    })
    const { method, url, headers } = request
    const asked = http.request({ host: '127.0.0.1', port, method, path: url, headers })
    response.once('close', () => asked.destroy())
    // A storm that ends while its page is open is no fault of the service.
    asked.once('error', () => response.destroy())
    asked.once('response', answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      pipeline(answer, response).catch(() => {})
    })
    request.pipe(asked)
  }
  return router().use('/storm', onlyHere, handOn)
}
