/**
 * Which URLs are exempt from the gate: exact paths, or everything below one that ends in `*`. Health checks and metrics
 * must be answered whatever happens, or overload looks like death. Pure.
 */

/**
 * What makes the application look elsewhere than where a path seems to lie, so that nobody becomes exempt by writing
 * `/internal/../checkout`. Better too much than too little: an honest request for an exempt path has nothing of this.
 *
 * - A dot segment: `.` or `..`, ended by the path's end or by whatever is not part of a plain name. That is a slash, a
 *   backslash, which WHATWG URLs take for one, a `;`, which some proxies cut off with what follows, or any of them encoded.
 * - A `#`, at which WHATWG URLs end the path: `/internal/..#` is `/`.
 * - A space or control character, which WHATWG URLs leave out.
 *
 * Encoded also means encoded again (`%252e`): applications decode paths, and what they call may do so once more.
 */
const CLIMBS = new RegExp(
  [
    String.raw`(?:^|[/\\]|%(?:25)*2f|%(?:25)*5c)(?:\.|%(?:25)*2e){1,2}(?![\w.~-])`,
    '#',
    // Below '!', the first visible character; encoded, a space is part of honest names.
    String.raw`[^!-\uffff]|%(?:25)*(?:[01][0-9a-f]|7f)`,
  ].join('|'),
  'i',
)

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
