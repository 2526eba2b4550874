/** meltproof/koa: `app.use(meltproof())`, first. Knows Koa and the routers (@koa/router, koa-router) by shape alone. */
import { handlerEnded } from '../handler-end.ts'
import { nameRoute } from '../route.ts'

interface KoaContext {
  readonly req: object
  /** Set by the router. */
  readonly _matchedRoute?: unknown
}

/**
 * Middleware that names routes for metrics and logs, and tells when handlers end. Koa answers a passed deadline with 504
 * by itself.
 */
export function meltproof(): (context: object, next: () => Promise<unknown>) => Promise<void> {
  return async (given, next) => {
    const context = given as KoaContext
    nameRoute(context.req, () => (context._matchedRoute === undefined ? undefined : String(context._matchedRoute)))
    try {
      await next()
    } finally {
      handlerEnded(context.req)
    }
  }
}
