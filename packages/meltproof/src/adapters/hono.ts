/**
 * meltproof/hono (on @hono/node-server): middleware that names routes for metrics and logs, and an error handler that
 * answers a passed deadline with 504. Knows Hono by shape alone. `app.use(routeNames())`, `app.onError(deadlineErrors())`.
 */
import { handlerEnded } from '../handler-end.ts'
import { nameRoute } from '../route.ts'
import { GATEWAY_TIMEOUT, GATEWAY_TIMEOUT_TEXT, gaveUpWaiting } from './gave-up.ts'

interface HonoContext {
  readonly env?: { readonly incoming?: object }
  readonly req: { readonly routePath?: string; readonly matchedRoutes?: readonly { readonly path: string }[] }
  text(text: string, status?: number): Response
}

// biome-ignore lint/suspicious/noExplicitAny: Hono's context is generic over the app.
export function routeNames(): (context: any, next: () => Promise<void>) => Promise<void> {
  return async (context: HonoContext, next) => {
    const { env, req } = context
    try {
      await next()
    } finally {
      if (env?.incoming !== undefined) handlerEnded(env.incoming)
    }
    // The last that matched is the handler; before it come middlewares such as this one.
    const path = req.matchedRoutes?.at(-1)?.path ?? req.routePath
    if (env?.incoming !== undefined && path !== undefined && !path.endsWith('*')) nameRoute(env.incoming, path)
  }
}

/** For `app.onError`; other errors are answered as Hono does, with 500. */
// biome-ignore lint/suspicious/noExplicitAny: Hono's context is generic over the app.
export function deadlineErrors(): (error: Error, context: any) => Response {
  return (error, context: HonoContext) => {
    if (gaveUpWaiting(error)) return context.text(GATEWAY_TIMEOUT_TEXT, GATEWAY_TIMEOUT)
    const own = error as { getResponse?: () => Response }
    if (typeof own.getResponse === 'function') return own.getResponse()
    console.error(error)
    return context.text('Internal Server Error', 500)
  }
}
