/** Loads an optional peer, or throws an error that names the missing package. */
import { createRequire } from 'node:module'
import { MeltproofError } from '../errors.ts'

const require = createRequire(import.meta.url)

/** @throws MeltproofError MELTPROOF_PEER_MISSING */
export function optionalPeer<T>(name: string, entry: string, load: (id: string) => unknown = require): T {
  try {
    return load(name) as T
  } catch (cause) {
    throw new MeltproofError(
      'MELTPROOF_PEER_MISSING',
      `${entry} needs the package ${name}, which is not installed here: npm install ${name}`,
      { cause },
    )
  }
}
