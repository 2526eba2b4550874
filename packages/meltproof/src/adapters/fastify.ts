/** meltproof/fastify (4.10 and later): `app.register(meltproof)`, before the routes. Does not import Fastify. */
import { handlerEnded, nameRoute } from '../request-notes.ts'

interface FastifyRequest {
  readonly raw: object
  readonly routeOptions?: { readonly url?: string | undefined }
}
/** Fastify passes the request and the reply; @fastify/websocket passes the socket and the request. */
type HandlerArguments = (Partial<FastifyRequest> | undefined)[]
interface FastifyRoute {
  handler: (this: unknown, ...args: HandlerArguments) => unknown
}
interface FastifyLike {
  // biome-ignore lint/suspicious/noExplicitAny: Fastify's own signatures are overloaded by hook.
  addHook(name: any, hook: any): unknown
}

/** Names routes of all scopes and reports the end of handlers. Fastify itself answers a missed deadline with 504. */
export async function meltproof(app: FastifyLike): Promise<void> {
  app.addHook('onRequest', async ({ raw, routeOptions }: FastifyRequest) => {
    if (routeOptions?.url !== undefined) nameRoute(raw, routeOptions.url)
  })
  // After meltproof has answered in a handler's place, only the handler's promise shows when the handler ends.
  app.addHook('onRoute', (route: FastifyRoute) => {
    const { handler } = route
    route.handler = function (...args) {
      const result = handler.apply(this, args)
      if (result instanceof Promise) {
        const ended = (): void => handlerEnded(args.find(each => each?.raw !== undefined)?.raw)
        result.then(ended, ended)
      }
      return result
    }
  })
}

// The mark of fastify-plugin; without it the hooks would not apply to the app's routes.
Object.assign(meltproof, { [Symbol.for('skip-override')]: true })
