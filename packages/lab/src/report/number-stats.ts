/** Statistics of a list of numbers. Pure. */

export interface NumberStats {
  readonly count: number
  readonly min: number
  readonly max: number
  readonly mean: number
  readonly last: number
}

export function numberStats(values: readonly number[]): NumberStats | undefined {
  const last = values.at(-1)
  if (last === undefined) return undefined
  return {
    count: values.length,
    min: values.reduce((a, b) => Math.min(a, b)),
    max: values.reduce((a, b) => Math.max(a, b)),
    mean: values.reduce((a, b) => a + b, 0) / values.length,
    last,
  }
}
