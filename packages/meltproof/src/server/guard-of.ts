import type { IncomingMessage } from 'node:http'
import type { Guard } from './guard.ts'

/** Where a server keeps its guard: on itself, under a symbol that every installed copy of meltproof shares. */
const GUARD = Symbol.for('meltproof.guard')

/** The guard of a server, if it is protected. */
export function guardOf<G extends object>(server: object): G | undefined {
  return (server as { [GUARD]?: G })[GUARD]
}

/** Undefined takes it away. */
export function setGuard(server: object, guard: object | undefined): void {
  if (guard === undefined) delete (server as { [GUARD]?: object })[GUARD]
  else Object.defineProperty(server, GUARD, { value: guard, configurable: true })
}

/**
 * 0 (every recent request started at once) to 1 (every one is shed) of the server this request came to; 0 when it is not
 * protected. For brownout: a handler that feels pressure leaves out what is nice to have, so that more are served.
 *
 * ```js
 * const related = pressureOf(request) > 0.3 ? [] : await recommendations(user)
 * ```
 */
export function pressureOf(request: Pick<IncomingMessage, 'socket'>): number {
  const { server } = (request.socket ?? {}) as { server?: object }
  return (server === undefined ? undefined : guardOf<Guard>(server))?.pressure() ?? 0
}
