/** A time limit for what must end, so that a hang is a fault and does not stop the run. */

/**
 * How long all users may make no progress, and how long a checkout or the end of a pool may take, ms. Nothing here
 * should need more than some hundred ms.
 */
export const PATIENCE_MS = 30_000

export const LATE: unique symbol = Symbol('late')

/**
 * Resolves with LATE once `moves` has not changed for `patienceMs`. On a busy machine a history may be slow, but it
 * progresses.
 */
export async function inTime<T>(
  promise: Promise<T>,
  patienceMs: number,
  moves: () => number = () => 0,
): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<typeof LATE>(resolve => {
    const wait = (before: number): void => {
      timer = setTimeout(() => (moves() === before ? resolve(LATE) : wait(moves())), patienceMs)
    }
    wait(moves())
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
