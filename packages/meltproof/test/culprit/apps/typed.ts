/** Compiled by the test: its lines are not those that run. */
type Amount = number

export function typed(ms: Amount): Amount {
  const untilMs: Amount = performance.now() + ms
  let count: Amount = 0
  while (performance.now() < untilMs) count += 1 // line: typed
  return count
}
