/**
 * What framework adapters, or the app, report about a request, stored on it under symbols that every installed copy of
 * meltproof shares: its route, a template such as `/users/:id` of which a service has a bounded number, and the end of
 * its handler.
 */
const ROUTE = Symbol.for('meltproof.route')

type Route = string | (() => string | undefined)
type Named = { [ROUTE]?: Route }

/** Names the route of a request (the one of node:http). A function is called at the end of the request. */
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

const HANDLER_END = Symbol.for('meltproof.handlerEnd')

type Ending = { [HANDLER_END]?: 'ended' | (() => void) }

/** Reports that the handler of this request (the one of node:http) has ended, whether or not it was answered. */
export function handlerEnded(request: object): void {
  const told = request as Ending
  const listener = told[HANDLER_END]
  told[HANDLER_END] = 'ended'
  if (typeof listener === 'function') listener()
}

/** Calls `listener` when the handler ends, if an adapter reports it; returns true when it has already ended. */
export function onHandlerEnd(request: object, listener: () => void): boolean {
  const told = request as Ending
  if (told[HANDLER_END] === 'ended') return true
  told[HANDLER_END] = listener
  return false
}
