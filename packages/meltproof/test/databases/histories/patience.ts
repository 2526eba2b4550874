/** A limit for what must end: a fault when it does not, instead of a run that hangs. */

/** How long no user may get on, a checkout or the end of a pool may take. Nothing here needs more than some hundred ms, ms. */
export const PATIENCE_MS = 30_000

export const LATE: unique symbol = Symbol('late')

/**
 * LATE once `patienceMs` have passed in which `moves` did not change: on a machine that has no time for it a history takes
 * long, but goes on.
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
