/** Student's t distribution. Pure. */

/** The value that |t| exceeds with probability `1 - confidence`, for `df` (1, 2, ...) degrees of freedom. */
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
