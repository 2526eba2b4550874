/** meltproof/koa: `app.use(meltproof())`, first. Works with @koa/router and koa-router, and does not import them. */
import { handlerEnded, nameRoute } from '../request-notes.ts'

interface KoaContext {
  readonly req: object
  readonly _matchedRoute?: unknown
}

/** Names routes and reports the end of handlers. Koa answers a missed deadline with 504, the status of the error. */
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
