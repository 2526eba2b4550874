/** The middle of a few noisy numbers, with an interval. Pure. */
import { mean } from '../report/number-stats.ts'

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
  const middle = mean(kept)!
  const winsorised = sorted.map(value => Math.min(kept.at(-1)!, Math.max(kept[0]!, value)))
  const centre = mean(winsorised)!
  const deviation = Math.sqrt(winsorised.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (n - 1))
  const error = deviation / ((1 - (2 * cut) / n) * Math.sqrt(n))
  const reach = twoSidedT(confidence, kept.length - 1) * error
  return { middle, low: middle - reach, high: middle + reach }
}

/** Student's t: |t| exceeds this value with probability `1 - confidence`, for `df` (1, 2, ...) degrees of freedom. */
export function twoSidedT(confidence: number, df: number): number {
  let low = 0
  let high = 1
  while (within(high, df) < confidence) high *= 2
  // Ends when `low` and `high` are adjacent numbers.
  for (let middle = high / 2; middle > low && middle < high; middle = (low + high) / 2) {
    if (within(middle, df) < confidence) low = middle
    else high = middle
  }
  return high
}

/**
 * P(|T| <= t), by the finite series for whole degrees of freedom: Abramowitz and Stegun, "Handbook of Mathematical
 * Functions", 26.7.3 and 26.7.4. With theta = atan(t / sqrt(df)):
 *
 *   odd df:   2/pi (theta + sin cos (1 + 2/3 cos^2 + 2*4/(3*5) cos^4 + ... up to cos^(df-3)))
 *   even df:  sin (1 + 1/2 cos^2 + 1*3/(2*4) cos^4 + ... up to cos^(df-2))
 */
function within(t: number, df: number): number {
  const theta = Math.atan(t / Math.sqrt(df))
  const [sin, cos2] = [Math.sin(theta), Math.cos(theta) ** 2]
  const odd = df % 2 === 1
  let term = 1
  let sum = df === 1 ? 0 : 1
  for (let power = 2; power <= df - (odd ? 3 : 2); power += 2) {
    term *= (cos2 * (odd ? power : power - 1)) / (odd ? power + 1 : power)
    sum += term
  }
  return odd ? (2 / Math.PI) * (theta + sin * Math.cos(theta) * sum) : sin * sum
}
