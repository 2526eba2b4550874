/** Computes how many seconds a shed client should wait before it retries. Pure, except for its random numbers. */

/**
 * Each client draws a random second from half of the range, so that clients do not return at the same time. The more
 * requests are shed, the later that half lies: first in the range when few are, last when all are.
 *
 * @param pressure 0 to 1; above 0.5 a growing share is shed
 */
export function retryAfter([least, most]: readonly [least: number, most: number], pressure: number): number {
  const spread = Math.ceil((most - least) / 2)
  const shedShare = Math.min(1, Math.max(0, 2 * pressure - 1))
  const first = least + Math.round(shedShare * (most - least - spread))
  return first + Math.floor(Math.random() * (spread + 1))
}
