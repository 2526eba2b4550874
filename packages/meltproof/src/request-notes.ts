/**
 * Stores the reports of a framework adapter or the app about a request: the end of its handler, and its route, a
 * template such as `/users/:id`. A service has a bounded number of routes. Every installed copy of meltproof uses the
 * same symbols on the request.
 */
const ROUTE = Symbol.for('meltproof.route')

type Route = string | (() => string | undefined)
type Named = { [ROUTE]?: Route }

/** Names the route of a request of node:http. If `route` is a function, it is called whenever the route is read. */
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

/**
 * Reports that the handler of this request of node:http has ended, with or without an answer. Ignores a value that is
 * no object: adapters call this when a promise settles, where an exception would end the process.
 */
export function handlerEnded(request: unknown): void {
  if (typeof request !== 'object' || request === null) return
  const marked = request as Ending
  const listener = marked[HANDLER_END]
  marked[HANDLER_END] = 'ended'
  if (typeof listener === 'function') listener()
}

/** Calls `listener` when an adapter reports the end of the handler. If it has ended, only returns true. */
export function onHandlerEnd(request: object, listener: () => void): boolean {
  const marked = request as Ending
  if (marked[HANDLER_END] === 'ended') return true
  marked[HANDLER_END] = listener
  return false
}
