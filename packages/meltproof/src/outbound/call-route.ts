/** Reduces the path of a call to a route, such as `/users/*`. Pure, in time linear in the length of the path. */

/** Everything after this many segments becomes one `*`. */
const MOST_SEGMENTS = 4
/** A segment that matches is kept. One with digits or other characters, or a longer one, counts as an id. */
const WORD = /^[A-Za-z._-]{1,32}$/

/** The path without its query, and with `*` for each segment that is not a word. */
export function callRoute(path: string): string {
  let route = ''
  let from = path.startsWith('/') ? 1 : 0
  const query = path.search(/[?#]/)
  const end = query < 0 ? path.length : query
  for (let segments = 0; from < end; segments++) {
    if (segments === MOST_SEGMENTS) return `${route}/*`
    const slash = path.indexOf('/', from)
    const to = slash < 0 || slash > end ? end : slash
    const segment = path.slice(from, to)
    route += WORD.test(segment) || segment === '' ? `/${segment}` : '/*'
    from = to + 1
  }
  return route === '' ? '/' : route
}
