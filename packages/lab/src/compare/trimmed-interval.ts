/** The middle of a few noisy numbers, with an interval. Pure. */
import { twoSidedT } from './student-t.ts'

export interface Interval {
  readonly middle: number
  readonly low: number
  readonly high: number
}

/** Share of values left out at either end: a disturbed round must neither look like a change nor hide one. */
const TRIMMED = 0.2
/** With fewer values the interval is too wide to say anything. */
export const FEWEST = 5

/**
 * The trimmed mean and Student's interval around it, with the Winsorised deviation: Tukey and McLaughlin, "Less
 * vulnerable confidence and significance procedures for location based on a single sample: trimming/Winsorization 1",
 * Sankhya A 25, 1963. Needs {@link FEWEST} values. Valid for values that are symmetric around their centre, such as the
 * differences of two runs of the same program.
 */
export function trimmedInterval(values: readonly number[], confidence: number): Interval {
  const n = values.length
  if (n < FEWEST) throw new RangeError(`an interval takes at least ${FEWEST} values, got ${n}`)
  const cut = Math.floor(TRIMMED * n)
  const sorted = values.toSorted((a, b) => a - b)
  const kept = sorted.slice(cut, n - cut)
  const middle = mean(kept)
  const winsorised = sorted.map(value => Math.min(kept.at(-1)!, Math.max(kept[0]!, value)))
  const centre = mean(winsorised)
  const deviation = Math.sqrt(winsorised.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (n - 1))
  const error = deviation / ((1 - (2 * cut) / n) * Math.sqrt(n))
  const reach = twoSidedT(confidence, kept.length - 1) * error
  return { middle, low: middle - reach, high: middle + reach }
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
