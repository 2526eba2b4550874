/**
 * The options of every bound() of a database or cache. Throws a MeltproofError for unknown ones and bad values. Pure.
 */
import { checkNumber, invalidOption, rejectUnknown } from '../options.ts'

/** Options of `bound()` for a database. A budget that has less left shrinks them. */
export interface BoundDatabaseOptions {
  /** How long a query may take. Milliseconds. @default 10_000 */
  readonly queryMs?: number
  /** How long to wait for a connection of the pool. Milliseconds. @default 10_000 */
  readonly acquireMs?: number
}

/** As the total of an outbound call (outbound/limits.ts), ms. */
const DEFAULT_MS = 10_000
const MOST_MS = 86_400_000

export function checkOptions<Name extends string>(options: object, names: readonly Name[]): Record<Name, number> {
  const what = 'bound(client, options)'
  if (typeof options !== 'object' || options === null) invalidOption(`${what}: options`, 'an object', options)
  rejectUnknown(what, options, names)
  const given: Partial<Record<Name, unknown>> = options
  const checked = names.map(name => [
    name,
    checkNumber(name, given[name] === undefined ? DEFAULT_MS : given[name], {
      min: 1,
      max: MOST_MS,
      unit: 'milliseconds',
    }),
  ])
  return Object.fromEntries(checked) as Record<Name, number>
}
