/** The options of meltproof/stdout, their ranges and defaults. Pure. */
import { checkNumber, checkObject, rejectUnknown } from '../../options.ts'

/** @experimental */
export interface StdoutOptions {
  /**
   * Memory that each stream may use for lines that wait for its reader, in bytes, 65,536 to 1,073,741,824. A write that
   * begins while less than 16 KiB wait is accepted whole, even if it exceeds the limit. Any other line that is longer
   * than the limit is lost, unless its stream is a file.
   * @default 8_388_608
   */
  readonly bufferBytes?: number
  /** How long the end of the process may wait for the readers of both streams, ms, 0 to 60,000. @default 1000 */
  readonly flushMs?: number
}

export type StdoutSettings = Required<StdoutOptions>

export function checkStdoutOptions(options: StdoutOptions): StdoutSettings {
  checkObject('options of install()', options, 'an object')
  rejectUnknown('install() of meltproof/stdout', options, ['bufferBytes', 'flushMs'])
  const {
    bufferBytes = 8 * 1024 * 1024, // About 20,000 access log lines of 250 bytes: one or two seconds of a busy service.
    flushMs = 1000, // Far below the 10 to 30 s that orchestrators allow between SIGTERM and SIGKILL.
  } = options
  const sizes = { min: 65_536, max: 1_073_741_824, whole: true, unit: 'bytes' }
  return {
    bufferBytes: checkNumber('bufferBytes', bufferBytes, sizes),
    flushMs: checkNumber('flushMs', flushMs, { min: 0, max: 60_000, unit: 'milliseconds' }),
  }
}
