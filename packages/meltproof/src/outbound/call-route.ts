/** Which of a peer's routes a path belongs to. Pure, linear in its length. */

/** What follows after this many segments counts as one. */
const MOST_SEGMENTS = 4
/** Names of routes are words; what has digits or is longer is an id. */
const WORD = /^[A-Za-z._-]{1,32}$/

/** The path without its query, and with `*` for each segment that is no word. */
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
