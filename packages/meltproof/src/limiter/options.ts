import { CRITICALITIES, type CriticalityAnswer, levelOf, readCriticality } from '../admission/queue/criticality.ts'
import { hourNow } from '../clock.ts'
import { checkBoolean, checkNumber, checkObject, invalidOption, rejectUnknown } from '../options.ts'

/** All options are optional. */
export interface LimiterOptions {
  /** Maximum concurrent work, a whole number from 1 to 1,000,000. @default learned */
  readonly limit?: number
  /**
   * Set to false for a consumer that pulls its work and can wait (docs/limiter.md): nothing is shed for overload. Work
   * without a permit waits, without a time limit, up to 100,000 at once. Limit how much you pull.
   * @default true
   */
  readonly sheds?: boolean
  /**
   * The limiter's name in the metrics of `meltproof/prometheus` and `meltproof/otel`. The first 100 names of a process
   * appear; of two limiters with the same name, the later one appears.
   * @default not in the metrics
   */
  readonly name?: string
}

export interface RunOptions {
  /**
   * How important the work is: `critical_plus`, `critical`, `sheddable_plus` or `sheddable`, alone or with a key (a
   * user, a tenant) whose work should be done or shed together.
   * @default 'critical'
   */
  readonly criticality?: CriticalityAnswer
  /**
   * Aborted when the result is no longer needed: run() rejects with its reason. Waiting work is then not started;
   * running work keeps its permit until it settles.
   */
  readonly signal?: AbortSignal
}

export interface CheckedLimiterOptions {
  readonly limit: number | undefined
  readonly sheds: boolean
  readonly name: string | undefined
}

const LONGEST_NAME = 100

export function checkLimiterOptions(options: LimiterOptions): CheckedLimiterOptions {
  checkObject('limiter(options): options', options, 'an object')
  rejectUnknown('limiter(options)', options, ['limit', 'sheds', 'name'])
  const { limit, sheds = true, name } = options
  if (limit !== undefined) checkNumber('limit', limit, { min: 1, max: 1_000_000, whole: true })
  if (name !== undefined && (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME)) {
    invalidOption('name', `a string of 1 to ${LONGEST_NAME} characters`, name)
  }
  return { limit, sheds: checkBoolean('sheds', sheds), name }
}

export interface CheckedRun {
  readonly level: number
  readonly signal: AbortSignal | undefined
}

const PLAIN: CheckedRun = { level: levelOf(), signal: undefined }

export function checkRun(fn: unknown, options: RunOptions | undefined): CheckedRun {
  if (typeof fn !== 'function') invalidOption('run(fn): fn', 'a function', fn)
  if (options === undefined) return PLAIN
  checkObject('run(fn, options): options', options, 'an object')
  rejectUnknown('run(fn, options)', options, ['criticality', 'signal'])
  const { criticality, signal } = options
  if (signal !== undefined && !(signal instanceof AbortSignal)) invalidOption('signal', 'an AbortSignal', signal)
  const level = criticality === undefined ? PLAIN.level : readCriticality(criticality, hourNow())
  if (level === undefined) {
    invalidOption('criticality', `one of ${CRITICALITIES.join(', ')}, or { criticality, key }`, criticality)
  }
  return { level, signal }
}
