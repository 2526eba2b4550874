/** meltproof/hono (on @hono/node-server): `app.use(meltproof())`, first. Does not import Hono. */
import { ERROR_CODES, isMeltproofError } from '../errors.ts'
import { handlerEnded, nameRoute } from '../request-notes.ts'

interface HonoContext {
  readonly env?: { readonly incoming?: object }
  readonly req: { readonly routePath?: string; readonly matchedRoutes?: readonly { readonly path: string }[] }
  /** The error that the handler threw; `onError` has already answered it. */
  readonly error?: unknown
  res: Response
  text(text: string, status: number): Response
}

/**
 * Middleware that names routes for metrics and logs, reports the end of handlers, and answers a missed deadline with
 * 504 where Hono would answer 500 in plain text. Any other answer of your `onError` stays.
 */
// biome-ignore lint/suspicious/noExplicitAny: Hono's context is generic over the app.
export function meltproof(): (context: any, next: () => Promise<void>) => Promise<void> {
  return async (context: HonoContext, next) => {
    const { env, req } = context
    try {
      await next()
    } finally {
      if (env?.incoming !== undefined) handlerEnded(env.incoming)
    }
    // The last match is the handler; middlewares such as this one come before it.
    const path = req.matchedRoutes?.at(-1)?.path ?? req.routePath
    if (env?.incoming !== undefined && path !== undefined && !path.endsWith('*')) nameRoute(env.incoming, path)
    const { error, res } = context
    const isPlain500 = res.status === 500 && res.headers.get('content-type')?.startsWith('text/plain') === true
    if (isPlain500 && isMeltproofError(error) && error.statusCode !== undefined) {
      context.res = context.text(ERROR_CODES[error.code], error.statusCode)
    }
  }
}
