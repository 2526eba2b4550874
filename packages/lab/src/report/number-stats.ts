/** A stream of numbers in one line, as number-aggregator-stats printed it. Pure. */

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

/** `Meas: 18 Min: 3 Max: 4 Avg: 4 Cur: 4` */
export function statsLine({ count, min, max, mean, last }: NumberStats): string {
  const whole = (value: number): string => value.toFixed(0)
  return `Meas: ${count} Min: ${whole(min)} Max: ${whole(max)} Avg: ${whole(mean)} Cur: ${whole(last)}`
}
