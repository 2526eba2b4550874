/**
 * Which URLs are exempt from the gate: exact paths, or everything below one that ends in `*`. Health checks and metrics
 * must be answered whatever happens, or overload looks like death. Pure.
 */

/**
 * A dot segment, plain or encoded, or a backslash that some take for a slash: what the application makes of such a path
 * may lie elsewhere, and nobody becomes exempt by writing `/internal/../checkout`.
 */
const CLIMBS = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:$|[/\\]|%2f|%5c)/i

/** A predicate over request targets as they stand in the request line, query included; undefined for an empty list. */
export function exemptPaths(paths: readonly string[]): ((url: string) => boolean) | undefined {
  if (paths.length === 0) return undefined
  const exact = new Set(paths.filter(path => !path.endsWith('*')))
  const prefixes = paths.filter(path => path.endsWith('*')).map(path => path.slice(0, -1))
  return url => {
    const query = url.indexOf('?')
    const path = query === -1 ? url : url.slice(0, query)
    if (exact.has(path)) return true
    return prefixes.some(prefix => path.startsWith(prefix)) && !CLIMBS.test(path)
  }
}
