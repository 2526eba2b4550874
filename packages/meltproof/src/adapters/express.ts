/**
 * meltproof/express (4 and 5): names routes for metrics and logs, and answers a passed deadline with 504. Knows Express
 * by shape alone; protect() does everything else, below any framework.
 */
import { nameRoute } from '../route.ts'
import { GATEWAY_TIMEOUT, GATEWAY_TIMEOUT_TEXT, gaveUpWaiting } from './gave-up.ts'

interface ExpressRequest {
  readonly baseUrl?: string
  readonly route?: { readonly path?: unknown }
}
interface ExpressResponse {
  readonly headersSent: boolean
  status(code: number): { type(type: string): { send(text: string): unknown } }
}
type Next = (error?: unknown) => void

/** Middleware, before the routes: `app.use(routeNames())`. */
export function routeNames(): (request: object, response: object, next: Next) => void {
  return (request, _, next) => {
    nameRoute(request, () => {
      const { baseUrl = '', route } = request as ExpressRequest
      return route === undefined ? undefined : `${baseUrl}${String(route.path)}`
    })
    next()
  }
}

/** Error middleware, after the routes: `app.use(deadlineErrors())`. Other errors pass on. */
export function deadlineErrors(): (error: unknown, request: object, response: object, next: Next) => void {
  return (error, _, response, next) => {
    const answer = response as ExpressResponse
    if (!gaveUpWaiting(error) || answer.headersSent) next(error)
    else answer.status(GATEWAY_TIMEOUT).type('text/plain').send(GATEWAY_TIMEOUT_TEXT)
  }
}
