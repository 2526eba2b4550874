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
