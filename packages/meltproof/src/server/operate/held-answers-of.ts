/**
 * Sheds that a server has put off telling, told now. Behind a proxy that limits how many it sends, whoever is to be told no
 * holds the place of one that could be served. Not a method of the guard: it is for our own agent.
 */
import type { Guard } from '../guard.ts'

const tellers = new WeakMap<Guard, () => void>()

export function setTeller(guard: Guard, tell: () => void): void {
  tellers.set(guard, tell)
}

export function tellHeld(guard: Guard): void {
  tellers.get(guard)?.()
}
