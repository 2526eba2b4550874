import { checkFunction, checkNumber, checkObject, rejectUnknown } from '../options.ts'
import type { Warn } from '../warnings.ts'

/** @experimental */
export interface CulpritOptions {
  /** Minimum duration of a stall to be named, ms from 50 to 60,000. @default 100 */
  readonly thresholdMs?: number
  /**
   * Receives messages: stalls, each place once a minute, and why stalls cannot be named.
   * @default process.emitWarning
   */
  readonly onWarning?: (text: string) => void
}

export interface CheckedCulpritOptions {
  readonly thresholdMs: number
  readonly onWarning: Warn | undefined
}

export const THRESHOLD_MS = 100
const [LEAST_MS, MOST_MS] = [50, 60_000]

export function checkCulpritOptions(options: CulpritOptions): CheckedCulpritOptions {
  checkObject('watchStalls(options)', options, 'an object')
  rejectUnknown('watchStalls(options)', options, ['thresholdMs', 'onWarning'])
  const { thresholdMs = THRESHOLD_MS, onWarning } = options
  checkNumber('thresholdMs', thresholdMs, { min: LEAST_MS, max: MOST_MS, unit: 'milliseconds' })
  return { thresholdMs, onWarning: checkFunction('onWarning', onWarning) }
}
