import type { IncomingMessage } from 'node:http'
import type { Guard } from './guard.ts'

/** Property of a server that holds its guard. Every installed copy of meltproof uses the same symbol. */
const GUARD = Symbol.for('meltproof.guard')

export function guardOf(server: object): Guard | undefined {
  return (server as { [GUARD]?: Guard })[GUARD]
}

export function setGuard(server: object, guard: Guard | undefined): void {
  if (guard === undefined) Reflect.deleteProperty(server, GUARD)
  else Object.defineProperty(server, GUARD, { value: guard, configurable: true })
}

const flushes = new WeakMap<Guard, () => void>()

/** The flush is no method of the guard, because only meltproof's HAProxy agent needs it. */
export function onFlush(guard: Guard, flush: () => void): void {
  flushes.set(guard, flush)
}

/** Sends a server's delayed 503s now: a proxy that limits its requests in flight would otherwise keep slots for them. */
export function flushDelayed(guard: Guard): void {
  flushes.get(guard)?.()
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
  return (server === undefined ? undefined : guardOf(server))?.pressure() ?? 0
}
