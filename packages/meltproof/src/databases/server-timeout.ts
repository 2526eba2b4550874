/**
 * Which timeout the database itself gets, given what is left. Ours comes first; the server's is for the day our cancel
 * does not arrive. Setting it costs a round trip, so it is a power of two, and most queries find it in place. Pure.
 */

/** A lower one is not worth a round trip, ms. */
const LOWEST_MS = 64

/** Not below `leftMs`, and not above what the operator has set (`ownMs`, 0 for nothing). */
export function serverTimeoutFor(leftMs: number, ownMs: number): number {
  const power = Math.max(LOWEST_MS, 2 ** Math.ceil(Math.log2(Math.max(1, leftMs))))
  return ownMs > 0 ? Math.min(ownMs, power) : power
}
