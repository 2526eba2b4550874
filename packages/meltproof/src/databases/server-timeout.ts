/**
 * Which timeout the database itself should have, given what is left. Ours comes first and cancels; the server's is for
 * the day our cancel does not arrive. So it may be late, and is kept on a ladder of powers of two: setting it costs a
 * round trip, and most queries find the right rung in place. Pure.
 */

/** Below this rungs are not worth a round trip, ms. */
const LOWEST_RUNG_MS = 64

/** The least rung that is not below `leftMs`; not above what the operator has set (`ownMs`, 0 for nothing). */
export function serverTimeoutFor(leftMs: number, ownMs: number): number {
  const rung = Math.max(LOWEST_RUNG_MS, 2 ** Math.ceil(Math.log2(Math.max(1, leftMs))))
  return ownMs > 0 ? Math.min(ownMs, rung) : rung
}
