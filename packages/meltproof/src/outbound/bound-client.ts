/** Helpers of every bound(). They mark each client that is bound, so that it is patched only once. */
import { MeltproofError } from '../errors.ts'
import { show } from '../options.ts'

const BOUND = Symbol.for('meltproof.bound')
const bindings = new WeakMap<object, unknown>()

/** True if this or another copy of meltproof has bound the client. */
export function isBound(client: object): boolean {
  return BOUND in client
}

/** Returns false if the client is bound already. */
export function markBound(client: object): boolean {
  if (isBound(client)) return false
  Object.defineProperty(client, BOUND, { value: true })
  return true
}

/** Returns the binding of a client, made at the first call. Undefined if another copy of meltproof has bound it. */
export function bindOnce<Client extends object, Binding>(
  client: Client,
  Kind: new (client: Client, queryMs: number) => Binding,
  queryMs: number,
): Binding | undefined {
  const known = bindings.get(client) as Binding | undefined
  if (known !== undefined || !markBound(client)) return known
  const made = new Kind(client, queryMs)
  bindings.set(client, made)
  return made
}

export function unknownClient(subpath: string, expected: string, client: unknown): MeltproofError {
  return new MeltproofError(
    'MELTPROOF_CLIENT_INVALID',
    `bound() of meltproof/${subpath} needs ${expected}; got ${show(client)}.`,
  )
}
