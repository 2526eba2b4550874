/** Errors that mean "not now" instead of "not like this". Pure. */
import { TooManyWaiting } from '../positions/group-commit.ts'
import { Refusal } from '../refusal.ts'

/**
 * For `.catch()` of whatever asks the database. What it fails with here is our side's doing, since what callers send was
 * checked before, and a caller that keeps what it has and tries again does the right thing.
 */
export function databaseRefusal(error: unknown): never {
  if (error instanceof Refusal) throw error
  const busy = error instanceof TooManyWaiting
  const message = busy
    ? 'More comes in than can be stored; keep what you have and try again'
    : 'The database does not answer; keep what you have and try again'
  // 1 to 3 s, so that those who wait come back spread out.
  throw new Refusal(503, busy ? 'busy' : 'database-down', message, {}, 1 + Math.floor(Math.random() * 3))
}
