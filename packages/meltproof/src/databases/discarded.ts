/** What a query gets on a connection that is no longer to be used. */
import { MeltproofError } from '../errors.ts'

export function discardedError(what: string, cause: Error): MeltproofError {
  return new MeltproofError(
    'MELTPROOF_CLIENT_DISCARDED',
    `This ${what} connection ran a query whose deadline passed, and the server did not say in time that the query is ` +
      'over. The connection is discarded, because a late cancel would hit the next query on it. Release it (a pool makes ' +
      'a new one), or connect anew.',
    { cause },
  )
}

export function notRecognised(subpath: string, expected: string, got: string): MeltproofError {
  return new MeltproofError(
    'MELTPROOF_CLIENT_INVALID',
    `bound() of meltproof/${subpath} needs ${expected}; got ${got}.`,
  )
}
