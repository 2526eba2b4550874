/** The options that metrics() and instrument() share, and the route of a request. */
import type { IncomingMessage } from 'node:http'
import { checkFunction, checkGuard, checkNumber, checkObject, rejectUnknown } from '../options.ts'
import type { RequestRecord } from '../record.ts'
import { quietly } from '../warnings.ts'
import { boundedNames } from './labels.ts'
import type { GuardLike } from './metrics.ts'

export interface ObserveOptions {
  /** A request or call that takes at least this long is slow, and its verdict is counted. Milliseconds. @default 250 */
  readonly slowMs?: number
  /**
   * Returns the route template of a request that no adapter has named, such as `/users/:id`. Never return a path with
   * ids.
   * @default undefined: such requests have no route
   */
  readonly route?: (request: IncomingMessage) => string | undefined
  /** Number of routes, and of peers, that get their own series; others are counted as `other`. @default 100 */
  readonly mostNames?: number
}

export interface CheckedObserveOptions {
  readonly slowMs: number
  routeOf(record: RequestRecord, request: IncomingMessage): string
  peerOf(peer: string): string
}

/** @param more names of options that only this caller has */
export function checkObserveOptions(
  what: string,
  guard: GuardLike,
  options: ObserveOptions,
  ...more: readonly string[]
): CheckedObserveOptions {
  checkGuard(what, guard, 'stats')
  checkObject(`${what}: options`, options, 'an object')
  rejectUnknown(what, options, ['slowMs', 'route', 'mostNames', ...more])
  const { slowMs = 250, mostNames = 100 } = options
  const route = checkFunction('route', options.route)
  const most = checkNumber('mostNames', mostNames, { min: 1, max: 10_000, whole: true })
  const boundedRoute = boundedNames(most)
  return {
    slowMs: checkNumber('slowMs', slowMs, { min: 1, max: 3_600_000, unit: 'milliseconds' }),
    routeOf: (record, request) => {
      const name = record.route ?? quietly(() => route?.(request))
      return typeof name === 'string' && name !== '' ? boundedRoute(name) : ''
    },
    peerOf: boundedNames(most),
  }
}
