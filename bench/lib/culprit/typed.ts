/** Compiled to JavaScript with a source map beside it: its lines are not those that run. */
interface Total {
  readonly of: number
}

type Amount = number

export function typed(ms: Amount): Total {
  enum Unit {
    One = 1,
  }
  const untilMs = performance.now() + ms
  let of: number = 0
  while (performance.now() < untilMs) of += Unit.One // planted: typescript
  return after({ of })
}

function after(total: Total): Total {
  return { ...total }
}
