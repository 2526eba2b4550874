/** The limits of bound() for databases and caches. Pure. */
import { checkObject, rejectUnknown } from '../options.ts'
import { checkDuration } from '../outbound/limits.ts'

/** The limits of a database. The rest of a budget shortens them; `false` switches one off. @experimental */
export interface DatabaseLimits {
  /** How long a query may take. Milliseconds. @default 10_000 */
  readonly queryMs?: number | false
  /** How long to wait for a connection of the pool. Milliseconds. @default 10_000 */
  readonly acquireMs?: number | false
}

/** Time for cleanup after the end of a budget, from the first cleanup statement on, ms. */
export const GRACE_MS = 1000

/** The default is the same as for a whole HTTP call, ms. */
const DEFAULT_MS = 10_000

/** Infinity means no limit. Throws a MeltproofError for unknown names and values out of range. */
export function checkLimits<Name extends string>(limits: object, names: readonly Name[]): Record<Name, number> {
  const what = 'bound(client, limits)'
  checkObject(`${what}: limits`, limits, 'an object')
  rejectUnknown(what, limits, names)
  const checked = {} as Record<Name, number>
  for (const name of names) {
    const given = (limits as Partial<Record<Name, unknown>>)[name]
    checked[name] = checkDuration(name, given === undefined ? DEFAULT_MS : given) || Number.POSITIVE_INFINITY
  }
  return checked
}
