import { checkFunction, checkNumber, checkObject, checkOneOf, invalidOption, rejectUnknown } from '../../options.ts'
import { type AccessEntry, accessFields, combinedLine, isAlwaysLogged, jsonLine } from './access-line.ts'

/** @experimental */
export interface FieldLogger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** @experimental */
export interface AccessLogOptions {
  /** `json`: one object per line; `combined`: Apache's format, for existing parsers. @default 'json' */
  readonly format?: 'json' | 'combined'
  /**
   * A pino instance that logs, in place of `format` and `write`: 5xx as `error`; sheds, aborted requests and 4xx as
   * `warn`; others as `info`.
   * @default undefined
   */
  readonly logger?: FieldLogger
  /** Receives each line, with its newline. @default line => process.stdout.write(line) */
  readonly write?: (line: string) => void
  /**
   * Share of ordinary requests that is logged without pressure, 0 to 1. Errors, sheds and aborted requests are always
   * logged.
   * @default 1
   */
  readonly sample?: number
  /** The share at full pressure; at lower pressure it is interpolated. @default 0.1, or `sample` when that is less */
  readonly sampleUnderPressure?: number
  /** Further query parameters whose values are not logged; docs/access-log.md has the built-in ones. @default [] */
  readonly redact?: readonly string[]
  /** The client's address: `full`, `masked` (without 8 bits of IPv4 or 80 of IPv6), or `none`. @default 'full' */
  readonly address?: 'full' | 'masked' | 'none'
}

export interface AccessLogSettings {
  readonly emit: (entry: AccessEntry) => void
  /** Share of ordinary requests that is logged without pressure, and at full pressure. */
  readonly sampling: { readonly calm: number; readonly pressed: number }
  readonly redact: readonly string[]
  readonly address: 'full' | 'masked' | 'none'
}

export function checkAccessLogOptions(options: AccessLogOptions): AccessLogSettings {
  const what = 'accessLog(guard, options)'
  checkObject(`${what}: options`, options, 'an object')
  rejectUnknown(what, options, ['format', 'logger', 'write', 'sample', 'sampleUnderPressure', 'redact', 'address'])
  const { format = 'json', logger, redact = [], address = 'full', sample = 1 } = options
  const line = checkOneOf('format', format, ['json', 'combined']) === 'json' ? jsonLine : combinedLine
  const write = checkFunction('write', options.write) ?? writeToStdout
  if (logger !== undefined) checkLogger(logger, options)
  if (!Array.isArray(redact) || redact.some(name => typeof name !== 'string')) {
    invalidOption('redact', 'an array of names', redact)
  }
  const calm = checkNumber('sample', sample, { min: 0, max: 1 })
  const pressed = options.sampleUnderPressure ?? Math.min(calm, 0.1)
  return {
    emit: logger === undefined ? entry => write(line(entry)) : entry => logTo(logger, entry),
    sampling: { calm, pressed: checkNumber('sampleUnderPressure', pressed, { min: 0, max: calm }) },
    redact,
    address: checkOneOf('address', address, ['full', 'masked', 'none']),
  }
}

/** Handles errors like console.log(): without a listener, a pipe whose reader has left would end the process. */
function writeToStdout(text: string): void {
  const { stdout } = process
  const isHandled = stdout.listenerCount('error') > 0
  if (!isHandled) stdout.once('error', ignore)
  try {
    stdout.write(text, error => {
      // The error is also emitted, after this callback.
      if (error && stdout.listenerCount('error') === 0) stdout.once('error', ignore)
    })
  } finally {
    if (!isHandled) stdout.removeListener('error', ignore)
  }
}

function ignore(): void {}

export function shareAt({ calm, pressed }: AccessLogSettings['sampling'], pressure: number): number {
  return calm + (pressed - calm) * Math.min(1, Math.max(0, pressure))
}

function checkLogger(logger: FieldLogger, { format, write }: AccessLogOptions): void {
  if (['info', 'warn', 'error'].some(level => typeof logger?.[level as 'info'] !== 'function')) {
    invalidOption('logger', 'a pino instance, or something with its info(), warn() and error()', logger)
  }
  if (format !== undefined || write !== undefined) {
    invalidOption('logger', 'given without `format` and `write`, which it replaces', logger)
  }
}

function logTo(logger: FieldLogger, entry: AccessEntry): void {
  const { status, outcome } = entry
  const level = status >= 500 && outcome !== 'shed' ? 'error' : isAlwaysLogged(status, outcome) ? 'warn' : 'info'
  logger[level](accessFields(entry), 'request')
}
