import type { IncomingMessage } from 'node:http'
import type { Guard } from './guard.ts'

/** Property of a server that holds its guard. Every installed copy of meltproof uses the same symbol. */
const GUARD = Symbol.for('meltproof.guard')

export function guardOf<G extends object>(server: object): G | undefined {
  return (server as { [GUARD]?: G })[GUARD]
}

/** Sets the guard; undefined removes it. */
export function setGuard(server: object, guard: object | undefined): void {
  if (guard === undefined) delete (server as { [GUARD]?: object })[GUARD]
  else Object.defineProperty(server, GUARD, { value: guard, configurable: true })
}

/**
 * The pressure of the server that received this request: 0 (recent requests started at once) to 1 (all are shed); 0
 * when the server is not protected. Use it for brownout: under pressure a handler omits optional work, so that more
 * requests are served.
 *
 * ```js
 * const related = pressureOf(request) > 0.3 ? [] : await recommendations(user)
 * ```
 */
export function pressureOf(request: Pick<IncomingMessage, 'socket'>): number {
  const { server } = (request.socket ?? {}) as { server?: object }
  return (server === undefined ? undefined : guardOf<Guard>(server))?.pressure() ?? 0
}
