/** Where a server keeps its guard: on itself, so that two installed copies of meltproof do not both gate it. */
import type { Guard } from './server/guard.ts'

const GUARD = Symbol.for('meltproof.guard')
type Guarded = { [GUARD]?: Guard }

export function guardOf(server: object): Guard | undefined {
  return (server as Guarded)[GUARD]
}

/** Undefined takes it away. */
export function setGuard(server: object, guard: Guard | undefined): void {
  if (guard === undefined) delete (server as Guarded)[GUARD]
  else Object.defineProperty(server, GUARD, { value: guard, configurable: true })
}
