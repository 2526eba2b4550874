/** Which core does what. Pure. */

export interface Cores {
  readonly server: number
  readonly dependency: number
  readonly lab: number
}

/**
 * The last cores allowed, as the first ones tend to serve the machine's interrupts. With two, the dependencies share the
 * lab's: what is measured keeps a core of its own. Undefined when there is only one.
 */
export function coresOf(allowed: readonly number[]): Cores | undefined {
  const server = allowed.at(-1)
  const lab = allowed.at(-2)
  if (server === undefined || lab === undefined) return undefined
  return { server, lab, dependency: allowed.at(-3) ?? lab }
}
