/** Adds to the NODE_OPTIONS that the user has set. */
export function joinNodeOptions(...parts: readonly (string | undefined)[]): string | undefined {
  const given = parts.filter(part => part !== undefined && part !== '')
  return given.length === 0 ? undefined : given.join(' ')
}
