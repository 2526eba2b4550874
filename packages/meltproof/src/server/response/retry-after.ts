/** How many seconds a client that is turned away is told to stay away. Pure, but for its dice. */

/**
 * Half of the range, from which each client draws its own second, so that they do not return as one wave. The more
 * requests are shed, the later is that half: the first when hardly any are, the last when all are.
 *
 * @param pressure 0 to 1; above 0.5 a growing share is shed
 */
export function retryAfter([least, most]: readonly [least: number, most: number], pressure: number): number {
  const spread = Math.ceil((most - least) / 2)
  const shedShare = Math.min(1, Math.max(0, 2 * pressure - 1))
  const first = least + Math.round(shedShare * (most - least - spread))
  return first + Math.floor(Math.random() * (spread + 1))
}
