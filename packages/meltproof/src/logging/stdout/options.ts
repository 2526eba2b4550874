/** The options of meltproof/stdout: what there is, in which range, and the defaults. Pure. */
import { checkBoolean, checkNumber, invalidOption, rejectUnknown } from '../../options.ts'

export interface StdoutOptions {
  /**
   * Memory each stream may use for lines that wait for its reader, in bytes, 65,536 to 1,073,741,824. A line longer
   * than this is lost unless its stream is a file.
   * @default 8_388_608
   */
  readonly bufferBytes?: number
  /**
   * Which lines are lost when the buffer is full: `newest` keeps those that tell how it began, `oldest` those that tell
   * how it is now. Either way half of the buffer is given up at once, so that there is one gap and not one a line.
   * @default 'newest'
   */
  readonly drop?: 'newest' | 'oldest'
  /**
   * How long the end of the process may wait for the readers of both streams together, in milliseconds, 0 to 60,000.
   * @default 1000
   */
  readonly flushMs?: number
  /**
   * How the line that tells of lost lines is written: `json`, `text`, or `auto`, which takes the form of the line
   * before it.
   * @default 'auto'
   */
  readonly notices?: 'auto' | 'json' | 'text'
  /**
   * File to which the final count of lost lines is appended, one line of JSON a stream, when a stream does not take it.
   * Without it, the count goes to the other stream.
   * @default undefined
   */
  readonly lossFile?: string
  /**
   * Also take over what is written to descriptors 1 and 2 with `fs.write()` and its relatives, past the streams, as
   * pino's transports and `pino.destination()` do.
   * @default true
   */
  readonly descriptors?: boolean
}

export interface StdoutSettings {
  readonly maxBytes: number
  readonly drop: 'newest' | 'oldest'
  readonly flushMs: number
  readonly notices: 'auto' | 'json' | 'text'
  readonly lossFile: string | undefined
  readonly descriptors: boolean
}

const DEFAULTS: StdoutSettings = {
  maxBytes: 8 * 1024 * 1024, // about 20,000 access log lines of 250 bytes: a second or two of a busy service
  drop: 'newest',
  flushMs: 1000, // far below the 10 to 30 s that orchestrators grant between SIGTERM and SIGKILL
  notices: 'auto',
  lossFile: undefined,
  descriptors: true,
}

const KNOWN = ['bufferBytes', 'drop', 'flushMs', 'notices', 'lossFile', 'descriptors']

/** Throws a MeltproofError for an option that does not exist or is out of range. */
export function checkStdoutOptions(options: StdoutOptions): StdoutSettings {
  if (typeof options !== 'object' || options === null) invalidOption('options of install()', 'an object', options)
  rejectUnknown('install() of meltproof/stdout', options, KNOWN)
  const { bufferBytes, drop, flushMs, notices, lossFile, descriptors } = options
  if (lossFile !== undefined && (typeof lossFile !== 'string' || lossFile === '')) {
    invalidOption('lossFile', 'a path', lossFile)
  }
  return {
    maxBytes:
      bufferBytes === undefined
        ? DEFAULTS.maxBytes
        : checkNumber('bufferBytes', bufferBytes, { min: 65_536, max: 1_073_741_824, whole: true, unit: 'bytes' }),
    drop: oneOf('drop', drop, ['newest', 'oldest']) ?? DEFAULTS.drop,
    flushMs:
      flushMs === undefined
        ? DEFAULTS.flushMs
        : checkNumber('flushMs', flushMs, { min: 0, max: 60_000, unit: 'milliseconds' }),
    notices: oneOf('notices', notices, ['auto', 'json', 'text']) ?? DEFAULTS.notices,
    lossFile,
    descriptors: descriptors === undefined ? DEFAULTS.descriptors : checkBoolean('descriptors', descriptors),
  }
}

function oneOf<T extends string>(name: string, value: T | undefined, known: readonly T[]): T | undefined {
  if (value !== undefined && !known.includes(value)) {
    invalidOption(name, known.map(each => `'${each}'`).join(' or '), value)
  }
  return value
}
