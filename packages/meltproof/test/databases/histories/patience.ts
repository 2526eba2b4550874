/** A limit for what must end: a fault when it does not, instead of a run that hangs. */

/** What a user, a checkout or the end of a pool may take. Nothing here needs more than some hundred ms, ms. */
export const PATIENCE_MS = 30_000

export const LATE: unique symbol = Symbol('late')

export async function inTime<T>(promise: Promise<T>, patienceMs: number): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<typeof LATE>(resolve => {
    timer = setTimeout(() => resolve(LATE), patienceMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
