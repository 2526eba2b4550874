/** meltproof/fastify (4.10 and later): `app.register(meltproof)`, before the routes. Knows Fastify by shape alone. */
import { handlerEnded, nameRoute } from '../request-notes.ts'

interface FastifyRequest {
  readonly raw: object
  readonly routeOptions?: { readonly url?: string | undefined }
}
interface FastifyRoute {
  handler: (this: unknown, request: FastifyRequest, reply: unknown) => unknown
}
interface FastifyLike {
  // biome-ignore lint/suspicious/noExplicitAny: Fastify's own signatures are overloaded by hook.
  addHook(name: any, hook: any): unknown
}

/** Names the routes of all scopes and tells when handlers end. Fastify answers a passed deadline with 504 by itself. */
export async function meltproof(app: FastifyLike): Promise<void> {
  app.addHook('onRequest', async ({ raw, routeOptions }: FastifyRequest) => {
    if (routeOptions?.url !== undefined) nameRoute(raw, routeOptions.url)
  })
  // Fastify does not end an answer given in its place: only the handler's promise tells its end.
  app.addHook('onRoute', (route: FastifyRoute) => {
    const { handler } = route
    route.handler = function (request, reply) {
      const result = handler.call(this, request, reply)
      if (result instanceof Promise) {
        const ended = (): void => handlerEnded(request.raw)
        result.then(ended, ended)
      }
      return result
    }
  })
}

// The mark of fastify-plugin: without it the hooks would apply to this plugin only.
Object.assign(meltproof, { [Symbol.for('skip-override')]: true })
