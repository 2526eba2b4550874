/** Compiled to JavaScript with a source map, so that its lines differ from those that run. */
interface Total {
  readonly of: number
}

type Amount = number

export function typed(ms: Amount): Total {
  const untilMs: number = performance.now() + ms
  let of: number = 0
  while (performance.now() < untilMs) of += 1 // planted: typescript
  return after({ of })
}

function after(total: Total): Total {
  return { ...total }
}
