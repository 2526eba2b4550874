/** meltproof/express (4 and 5): `app.use(meltproof())`, before the routes. Does not import Express. */
import { nameRoute } from '../request-notes.ts'

interface ExpressRequest {
  readonly baseUrl?: string
  readonly route?: { readonly path?: unknown }
}

/** Names routes for metrics and logs. Express answers a missed deadline with 504, the status of the error. */
export function meltproof(): (request: object, response: object, next: () => void) => void {
  return (request, _, next) => {
    nameRoute(request, () => {
      const { baseUrl = '', route } = request as ExpressRequest
      return route === undefined ? undefined : `${baseUrl}${String(route.path)}`
    })
    next()
  }
}
