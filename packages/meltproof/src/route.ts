/**
 * The name of a request's route: a template such as `/users/:id`, of which a service has a bounded number. Written by
 * framework adapters, or by the app; read when the request's record is made. Kept on the request under a symbol that
 * every installed copy of meltproof shares.
 */
const ROUTE = Symbol.for('meltproof.route')

type Named = { [ROUTE]?: string | (() => string | undefined) }

/**
 * Names the route of a request (the one of node:http). A function is asked when the request is over, for frameworks
 * that know only then.
 */
export function nameRoute(request: object, route: string | (() => string | undefined)): void {
  const named = request as Named
  named[ROUTE] = route
}

export function routeOf(request: object): string | undefined {
  const route = (request as Named)[ROUTE]
  if (typeof route !== 'function') return route
  try {
    return route()
  } catch {
    // A name is not worth an answer.
    return undefined
  }
}
