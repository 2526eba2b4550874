/**
 * Which URLs are exempt from the gate: exact paths, or everything below one that ends in `*`. Health checks and metrics
 * must be answered whatever happens, or overload looks like death. Pure.
 */

/** A predicate over request targets as they stand in the request line, query included; undefined for an empty list. */
export function exemptPaths(paths: readonly string[]): ((url: string) => boolean) | undefined {
  if (paths.length === 0) return undefined
  const exact = new Set(paths.filter(path => !path.endsWith('*')))
  const prefixes = paths.filter(path => path.endsWith('*')).map(path => path.slice(0, -1))
  return url => {
    const query = url.indexOf('?')
    const path = query === -1 ? url : url.slice(0, query)
    return exact.has(path) || prefixes.some(prefix => path.startsWith(prefix))
  }
}
