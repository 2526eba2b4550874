/** Statistics of a list of numbers. Pure. */
import { sumOf } from '../load/added.ts'

export interface NumberStats {
  readonly count: number
  readonly min: number
  readonly max: number
  readonly mean: number
  readonly last: number
}

/** For an even number of values, the mean of the middle two. Null without values. */
export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Null without values. */
export const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : sumOf(values, value => value) / values.length

export function numberStats(values: readonly number[]): NumberStats | undefined {
  const last = values.at(-1)
  if (last === undefined) return undefined
  return {
    count: values.length,
    min: values.reduce((a, b) => Math.min(a, b)),
    max: values.reduce((a, b) => Math.max(a, b)),
    mean: mean(values)!,
    last,
  }
}
