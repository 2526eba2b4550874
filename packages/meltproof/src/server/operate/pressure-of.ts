import type { IncomingMessage } from 'node:http'
import { guardOf } from '../guard-of.ts'
import type { Guard } from '../guard.ts'

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
