import { checkFunction, checkNumber, checkObject, rejectUnknown } from '../options.ts'
import type { Warn } from '../warnings.ts'

/** @experimental */
export interface CulpritOptions {
  /** Minimum duration of a stall to be named, ms from 50 to 60,000. @default 100 */
  readonly thresholdMs?: number
  /**
   * Receives messages about stalls, each place once a minute, and the reason if stalls cannot be named.
   * @default process.emitWarning
   */
  readonly onWarning?: (text: string) => void
}

export function checkCulpritOptions(options: CulpritOptions): { thresholdMs: number; onWarning: Warn | undefined } {
  checkObject('watchStalls(options)', options, 'an object')
  rejectUnknown('watchStalls(options)', options, ['thresholdMs', 'onWarning'])
  const { thresholdMs = 100, onWarning } = options
  checkNumber('thresholdMs', thresholdMs, { min: 50, max: 60_000, unit: 'milliseconds' })
  return { thresholdMs, onWarning: checkFunction('onWarning', onWarning) }
}
