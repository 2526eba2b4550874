/** The options of every bound(): declared, defaulted and checked in one place. Pure. */
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

export interface CheckedDatabaseOptions {
  readonly queryMs: number
  readonly acquireMs: number
  readonly serverTimeout: boolean
}

/** Fills in defaults; throws a MeltproofError for anything unknown or out of range. */
export function checkDatabaseOptions(
  what: string,
  options: object,
  known: readonly string[] = ['queryMs', 'acquireMs'],
): CheckedDatabaseOptions {
  checkObject(what, options, known)
  const { queryMs, acquireMs, serverTimeout = true } = options as Record<string, unknown>
  return {
    queryMs: limit('queryMs', queryMs),
    acquireMs: limit('acquireMs', acquireMs),
    serverTimeout: checkBoolean('serverTimeout', serverTimeout),
  }
}

/** The one limit of a cache's client. */
export function checkCommandOptions(what: string, options: object): { readonly commandMs: number } {
  checkObject(what, options, ['commandMs'])
  return { commandMs: limit('commandMs', (options as { commandMs?: unknown }).commandMs) }
}

function checkObject(what: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) invalidOption(`${what}: options`, 'an object', options)
  rejectUnknown(what, options, known)
}

function limit(name: string, value: unknown = DEFAULT_MS): number {
  return checkNumber(name, value, { min: 1, max: MOST_MS, unit: 'ms' })
}
