/**
 * meltproof/koa: middleware that names routes (of @koa/router or koa-router) for metrics and logs, and answers a passed
 * deadline with 504. Knows Koa by shape alone. `app.use(meltproof())`, first.
 */
import { handlerEnded } from '../handler-end.ts'
import { nameRoute } from '../route.ts'
import { GATEWAY_TIMEOUT, GATEWAY_TIMEOUT_TEXT, gaveUpWaiting } from './gave-up.ts'

interface KoaContext {
  readonly req: object
  readonly headerSent: boolean
  status: number
  body: unknown
  /** Set by the router. */
  readonly _matchedRoute?: unknown
}

export function meltproof(): (context: object, next: () => Promise<unknown>) => Promise<void> {
  return async (given, next) => {
    const context = given as KoaContext
    nameRoute(context.req, () => (context._matchedRoute === undefined ? undefined : String(context._matchedRoute)))
    try {
      await next()
    } catch (error) {
      if (!gaveUpWaiting(error) || context.headerSent) throw error
      context.status = GATEWAY_TIMEOUT
      context.body = GATEWAY_TIMEOUT_TEXT
    } finally {
      handlerEnded(context.req)
    }
  }
}
