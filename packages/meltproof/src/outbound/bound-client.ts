/** For every bound(): a client is recognised by its shape, patched in place, and patched only once. */
import { MeltproofError } from '../errors.ts'
import { show } from '../options.ts'

const BOUND = Symbol.for('meltproof.bound')

/** Returns false if this or another copy of meltproof has already bound the client. */
export function markBound(client: object): boolean {
  if (BOUND in client) return false
  Object.defineProperty(client, BOUND, { value: true })
  return true
}

export function unknownClient(subpath: string, expected: string, client: unknown): MeltproofError {
  return new MeltproofError(
    'MELTPROOF_CLIENT_INVALID',
    `bound() of meltproof/${subpath} needs ${expected}; got ${show(client)}.`,
  )
}
