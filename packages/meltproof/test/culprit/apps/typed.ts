/** The test compiles this file, so the lines that run are not these. */
type Amount = number

export function typed(ms: Amount): Amount {
  const untilMs: Amount = performance.now() + ms
  let count: Amount = 0
  while (performance.now() < untilMs) count += 1 // line: typed
  return count
}
