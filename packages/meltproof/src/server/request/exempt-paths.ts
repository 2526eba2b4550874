/** Decides which URLs are exempt from the gate. Pure. */

/**
 * Matches parts of a URL that may make an application serve a path outside the one with which the URL begins, so that
 * `/internal/../checkout` does not become exempt. Honest requests for an exempt path contain none of these:
 *
 * - A dot segment, `.` or `..`, up to a slash, a backslash (WHATWG URLs treat it as a slash), a `;` (some proxies cut
 *   it off), or the end.
 * - A `#`, at which WHATWG URLs end the path: `/internal/..#` is `/`.
 * - A space or control character, which WHATWG URLs remove.
 *
 * Dots, slashes and control characters may be encoded any number of times (`%252e`): apps may decode more than once.
 */
const CLIMBS = new RegExp(
  [
    String.raw`(?:^|[/\\]|%(?:25)*2f|%(?:25)*5c)(?:\.|%(?:25)*2e){1,2}(?![\w.~-])`,
    '#',
    // All characters below '!', the first visible one. An encoded space is allowed, because honest paths contain it.
    String.raw`[^!-\uffff]|%(?:25)*(?:[01][0-9a-f]|7f)`,
  ].join('|'),
  'i',
)

/** Matches URLs, without their query, by exact paths and by prefixes (ending in `*`). Undefined for no paths. */
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
