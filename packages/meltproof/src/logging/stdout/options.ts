/** The options of meltproof/stdout, their ranges and defaults. Pure. */
import { checkBoolean, checkNumber, checkOneOf, invalidOption, rejectUnknown } from '../../options.ts'

export interface StdoutOptions {
  /**
   * Memory each stream may use for lines that wait for its reader, in bytes, 65,536 to 1,073,741,824. A longer line is
   * lost unless its stream is a file.
   * @default 8_388_608
   */
  readonly bufferBytes?: number
  /**
   * Which lines are lost when the buffer is full: `newest` keeps those that tell how it began, `oldest` those that tell
   * how it is now.
   * @default 'newest'
   */
  readonly drop?: 'newest' | 'oldest'
  /**
   * How long the end of the process may wait for the readers of both streams together, in milliseconds, 0 to 60,000.
   * @default 1000
   */
  readonly flushMs?: number
  /**
   * The form of the line that tells of lost lines: `json`, `text`, or `auto`, the form of the line before it.
   * @default 'auto'
   */
  readonly notices?: 'auto' | 'json' | 'text'
  /**
   * File to which the final count of lost lines is appended, a line of JSON a stream, instead of to the other stream.
   * @default undefined
   */
  readonly lossFile?: string
  /**
   * Also take over what `fs.write()` and its relatives write to descriptors 1 and 2, as `pino.destination()` does.
   * @default true
   */
  readonly descriptors?: boolean
}

const KNOWN = ['bufferBytes', 'drop', 'flushMs', 'notices', 'lossFile', 'descriptors']

export interface StdoutSettings extends Required<Omit<StdoutOptions, 'lossFile'>> {
  readonly lossFile: string | undefined
}

/** Throws a MeltproofError for an option that does not exist or is out of range. */
export function checkStdoutOptions(options: StdoutOptions): StdoutSettings {
  if (typeof options !== 'object' || options === null) invalidOption('options of install()', 'an object', options)
  rejectUnknown('install() of meltproof/stdout', options, KNOWN)
  const {
    bufferBytes = 8 * 1024 * 1024, // about 20,000 access log lines of 250 bytes: a second or two of a busy service
    drop = 'newest',
    flushMs = 1000, // far below the 10 to 30 s that orchestrators grant between SIGTERM and SIGKILL
    notices = 'auto',
    lossFile,
    descriptors = true,
  } = options
  if (lossFile !== undefined && (typeof lossFile !== 'string' || lossFile === '')) {
    invalidOption('lossFile', 'a path', lossFile)
  }
  return {
    bufferBytes: checkNumber('bufferBytes', bufferBytes, {
      min: 65_536,
      max: 1_073_741_824,
      whole: true,
      unit: 'bytes',
    }),
    drop: checkOneOf('drop', drop, ['newest', 'oldest']),
    flushMs: checkNumber('flushMs', flushMs, { min: 0, max: 60_000, unit: 'milliseconds' }),
    notices: checkOneOf('notices', notices, ['auto', 'json', 'text']),
    lossFile,
    descriptors: checkBoolean('descriptors', descriptors),
  }
}
