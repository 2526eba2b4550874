/**
 * Sends the delayed 503 answers of a server now. A proxy that limits its requests in flight would otherwise keep slots
 * for them. This is no method of the guard, because only meltproof's HAProxy agent needs it.
 */
import type { Guard } from '../guard.ts'

const flushes = new WeakMap<Guard, () => void>()

export function onFlush(guard: Guard, flush: () => void): void {
  flushes.set(guard, flush)
}

export function flushDelayed(guard: Guard): void {
  flushes.get(guard)?.()
}
