/**
 * The name of a request's route: a template such as `/users/:id`, of which a service has a bounded number. Framework
 * adapters or the app write it. Kept on the request under a symbol that every installed copy of meltproof shares.
 */
const ROUTE = Symbol.for('meltproof.route')

type Route = string | (() => string | undefined)
type Named = { [ROUTE]?: Route }

/** Names the route of a request (the one of node:http). A function is called when the request is over. */
export function nameRoute(request: object, route: Route): void {
  const named = request as Named
  named[ROUTE] = route
}

export function routeOf(request: object): string | undefined {
  const route = (request as Named)[ROUTE]
  if (typeof route !== 'function') return route
  try {
    return route()
  } catch {
    return undefined
  }
}
