/** meltproof/hono (on @hono/node-server): `app.use(meltproof())`, first. Knows Hono by shape alone. */
import { ERROR_CODES, isMeltproofError } from '../errors.ts'
import { handlerEnded } from '../handler-end.ts'
import { nameRoute } from '../route.ts'

interface HonoContext {
  readonly env?: { readonly incoming?: object }
  readonly req: { readonly routePath?: string; readonly matchedRoutes?: readonly { readonly path: string }[] }
  readonly error?: unknown
  res: Response
  text(text: string, status: number): Response
}

/** Names routes, tells when handlers end, and answers a passed deadline with 504 unless `onError` did. */
// biome-ignore lint/suspicious/noExplicitAny: Hono's context is generic over the app.
export function meltproof(): (context: any, next: () => Promise<void>) => Promise<void> {
  return async (context: HonoContext, next) => {
    const { env, req } = context
    try {
      await next()
    } finally {
      if (env?.incoming !== undefined) handlerEnded(env.incoming)
    }
    // The last match is the handler; middlewares come before it.
    const path = req.matchedRoutes?.at(-1)?.path ?? req.routePath
    if (env?.incoming !== undefined && path !== undefined && !path.endsWith('*')) nameRoute(env.incoming, path)
    const { error, res } = context
    if (res.status === 500 && isMeltproofError(error) && error.statusCode !== undefined) {
      context.res = context.text(ERROR_CODES[error.code], error.statusCode)
    }
  }
}
