/** Adds options to the user's NODE_OPTIONS. */
export function joinNodeOptions(...parts: readonly (string | undefined)[]): string | undefined {
  const given = parts.filter(part => part !== undefined && part !== '')
  return given.length === 0 ? undefined : given.join(' ')
}
