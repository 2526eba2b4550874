/** /storm/: forwards the requests of the storm's page to the storm's process. For this computer only. */
import http from 'node:http'
import { pipeline } from 'node:stream/promises'
import { type Request, type RequestHandler, type Router, Router as router } from 'express'
import { isLocalName } from '../lan.ts'
import { Refusal } from '../refusal.ts'
import type { Storm } from '../storm.ts'
import { maySimulate, onlyHere } from './simulated-routes.ts'

/**
 * The storm loads this computer, so guests and pages under another host name may not start it. Not on Windows, which
 * has no blocking pipes.
 */
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
    // A storm may end while its page is open; this is not an error of the service.
    asked.once('error', () => response.destroy())
    asked.once('response', answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      pipeline(answer, response).catch(() => {})
    })
    request.pipe(asked)
  }
  return router().use('/storm', onlyHere, handOn)
}
