/** Turns errors of the database into refusals that a client may retry. Pure but for random numbers. */
import { TooManyWaiting } from '../positions/group-commit.ts'
import { Refusal } from '../refusal.ts'

/**
 * For `.catch()` of a query. The request was validated before, so the failure is not the fault of the client, which
 * should keep its data and try again.
 */
export function databaseRefusal(error: unknown): never {
  if (error instanceof Refusal) throw error
  const busy = error instanceof TooManyWaiting
  const message = busy
    ? 'More comes in than can be stored; keep what you have and try again'
    : 'The database does not answer; keep what you have and try again'
  // 1 to 3 s, so that waiting clients do not all retry at the same time.
  throw new Refusal(503, busy ? 'busy' : 'database-down', message, {}, 1 + Math.floor(Math.random() * 3))
}
