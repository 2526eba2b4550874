/**
 * Sends the delayed 503 answers of a server now. A proxy that limits its requests in flight would otherwise keep slots
 * for them. This is no method of the guard, because only meltproof's HAProxy agent needs it.
 */
import type { Guard } from '../guard.ts'

const tellers = new WeakMap<Guard, () => void>()

export function onFlush(guard: Guard, tell: () => void): void {
  tellers.set(guard, tell)
}

export function flushDelayed(guard: Guard): void {
  tellers.get(guard)?.()
}
