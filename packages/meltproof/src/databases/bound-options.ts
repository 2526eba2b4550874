/** The options of every bound() of a database or cache: declared, defaulted and checked in one place. Pure. */
import { checkBoolean, checkNumber, invalidOption, rejectUnknown } from '../options.ts'

/** Options of `bound()` for a database. A budget that has less left shrinks them. */
export interface BoundDatabaseOptions {
  /** How long a query may take, ms. @default 10_000 */
  readonly queryMs?: number
  /** How long to wait for a connection of the pool, ms. @default 10_000 */
  readonly acquireMs?: number
}

/** As the total of an outbound call (outbound/limits.ts), ms. */
const DEFAULT_MS = 10_000
/** A day. */
const MOST_MS = 86_400_000

export interface CheckedOptions {
  readonly queryMs: number
  readonly acquireMs: number
  readonly commandMs: number
  readonly serverTimeout: boolean
}

/** Fills in defaults; throws a MeltproofError for anything that is not `known` or out of range. */
export function checkOptions(options: object, known: readonly (keyof CheckedOptions)[]): CheckedOptions {
  const what = 'bound(client, options)'
  if (typeof options !== 'object' || options === null) invalidOption(`${what}: options`, 'an object', options)
  rejectUnknown(what, options, known)
  const given: Partial<CheckedOptions> = options
  const { serverTimeout = true } = given
  const duration = (name: 'queryMs' | 'acquireMs' | 'commandMs'): number =>
    checkNumber(name, given[name] === undefined ? DEFAULT_MS : given[name], { min: 1, max: MOST_MS, unit: 'ms' })
  return {
    queryMs: duration('queryMs'),
    acquireMs: duration('acquireMs'),
    commandMs: duration('commandMs'),
    serverTimeout: checkBoolean('serverTimeout', serverTimeout),
  }
}
