/**
 * meltproof/access-log: a line for each request that came to a guard, from its RequestRecord. It must not matter to
 * the service: it never throws, and what it writes to waits for nobody where meltproof/stdout is on.
 */
import type { IncomingMessage } from 'node:http'
import { type RequestMessage, requests, type ShedMessage, sheds } from '../channels.ts'
import { dateAt, now, wallClockMs } from '../clock.ts'
import { checkBoolean, checkFunction, checkNumber, invalidOption, rejectUnknown } from '../options.ts'
import { type AccessEntry, accessFields, combinedLine, jsonLine } from './access-log/access-line.ts'
import { type IsSecret, redactTarget } from './access-log/redact.ts'
import { always, shareAt } from './access-log/sampling.ts'
import { secretNames } from './access-log/secret-names.ts'

/** What of a Guard the log reads. */
export interface PressureGuard {
  pressure(): number
}

/** What of a pino logger (or one like it) the log uses. */
export interface FieldLogger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface AccessLogOptions {
  /**
   * `json`: an object a line; `combined`: Apache's, for what parses that.
   * @default 'json'
   */
  readonly format?: 'json' | 'combined'
  /**
   * A pino instance to log to instead: `info`, `warn` for sheds and 4xx, `error` for 5xx. Not together with `format`
   * or `write`.
   * @default undefined
   */
  readonly logger?: FieldLogger
  /**
   * Takes each line, with its newline.
   * @default line => process.stdout.write(line)
   */
  readonly write?: (line: string) => void
  /**
   * Share of ordinary requests that get a line while there is no pressure, 0 to 1. Errors (400 and up), sheds and
   * aborted requests always do. A line that stands for several says so (`sampled`).
   * @default 1
   */
  readonly sample?: number
  /**
   * The same at full pressure; in between it goes in a straight line.
   * @default 0.1, or `sample` when that is less
   */
  readonly sampleUnderPressure?: number
  /**
   * Names of query parameters whose values are not logged, beside those known to carry secrets (`token`, `password`,
   * `code`, and so on). Case, `-`, `_` and encoding do not matter: `phone` is `user[Phone]` too.
   * @default []
   */
  readonly redact?: readonly string[]
  /**
   * The client's address: `full`, `masked` (the last 8 bits of IPv4 and 80 of IPv6 gone), or `none`.
   * @default 'full'
   */
  readonly address?: 'full' | 'masked' | 'none'
  /**
   * Whether sheds get lines too. Far above capacity they are most of what a server does, and a line makes each dearer;
   * `guard.stats().shed` counts them in any case.
   * @default true
   */
  readonly sheds?: boolean
}

const KNOWN: readonly (keyof AccessLogOptions)[] = [
  'format',
  'logger',
  'write',
  'sample',
  'sampleUnderPressure',
  'redact',
  'address',
  'sheds',
]

/** Where a protected server keeps its guard (server/protect.ts). */
const GUARD = Symbol.for('meltproof.guard')

const SHED_STATUS = 503

/** A request that was turned away took nothing but its wait. */
const NO_WORK = {
  route: undefined,
  status: SHED_STATUS,
  outcome: 'shed',
  stalledMs: 0,
  dependencyMs: 0,
  networkMs: 0,
  ownMs: 0,
  lateMs: 0,
  calls: 0,
  verdict: 'self',
} as const

/** A pressure this old is read anew. */
const PRESSURE_AGE_MS = 100

/**
 * Logs the requests of `guard`. Returns what ends it.
 *
 * ```js
 * accessLog(protect(server), { sample: 0.5 })
 * ```
 * @throws MeltproofError with code MELTPROOF_OPTION_UNKNOWN or MELTPROOF_OPTION_INVALID.
 */
export function accessLog(guard: PressureGuard, options: AccessLogOptions = {}): () => void {
  if (typeof guard?.pressure !== 'function') {
    invalidOption('accessLog(guard, options): guard', 'the guard that protect() returned', guard)
  }
  const { sampling, isSecret, address, emit, withSheds } = check(options)
  let pressure = 0
  let pressureAtMs = Number.NEGATIVE_INFINITY
  let failed = false

  const share = (): number => {
    if (sampling.calm === sampling.pressed) return sampling.calm
    const nowMs = now()
    if (nowMs - pressureAtMs >= PRESSURE_AGE_MS) {
      pressure = guard.pressure()
      pressureAtMs = nowMs
    }
    return shareAt(sampling, pressure)
  }

  const log = (server: object, status: number, outcome: string, entry: (sampled: number) => AccessEntry): void => {
    if ((server as { [GUARD]?: unknown })[GUARD] !== guard) return
    // What a subscriber throws ends the process; a log line is not worth that.
    try {
      const sampled = always(status, outcome) ? 1 : share()
      if (sampled < 1 && Math.random() >= sampled) return
      emit(entry(sampled))
    } catch (error) {
      if (failed) return
      failed = true
      process.emitWarning(`meltproof/access-log could not write a line; the service goes on. ${String(error)}`, {
        type: 'MeltproofWarning',
      })
    }
  }
  const onRequest = ({ record, server, request }: RequestMessage): void =>
    log(server, record.status, record.outcome, sampled => ({
      ...client(request, record.totalMs, isSecret, address),
      ...record,
      url: redactTarget(record.url, isSecret),
      shedReason: undefined,
      sampled,
    }))
  const onShed = ({ record, server, request }: ShedMessage): void =>
    log(server, SHED_STATUS, 'shed', sampled => ({
      ...client(request, record.waitedMs, isSecret, address),
      ...NO_WORK,
      method: request.method ?? '',
      url: redactTarget(request.url ?? '', isSecret),
      shedReason: record.reason,
      totalMs: record.waitedMs,
      queuedMs: record.waitedMs,
      bytes: record.bytes,
      sampled,
    }))
  requests.subscribe(onRequest)
  if (withSheds) sheds.subscribe(onShed)
  return () => {
    requests.unsubscribe(onRequest)
    sheds.unsubscribe(onShed)
  }
}

function check(options: AccessLogOptions) {
  const what = 'accessLog(guard, options)'
  if (typeof options !== 'object' || options === null) invalidOption(`${what}: options`, 'an object', options)
  rejectUnknown(what, options, KNOWN)
  const { format = 'json', logger, sample = 1, redact = [], address = 'full' } = options
  if (format !== 'json' && format !== 'combined') invalidOption('format', "'json' or 'combined'", format)
  if (address !== 'full' && address !== 'masked' && address !== 'none') {
    invalidOption('address', "'full', 'masked' or 'none'", address)
  }
  if (!Array.isArray(redact) || redact.some(name => typeof name !== 'string')) {
    invalidOption('redact', 'an array of names', redact)
  }
  const write = checkFunction('write', options.write) ?? ((line: string) => void process.stdout.write(line))
  if (logger !== undefined) {
    if (['info', 'warn', 'error'].some(level => typeof logger?.[level as 'info'] !== 'function')) {
      invalidOption('logger', 'a pino instance, or something with its info(), warn() and error()', logger)
    }
    if (options.format !== undefined || options.write !== undefined) {
      invalidOption('logger', 'given without `format` and `write`, which it replaces', logger)
    }
  }
  const calm = checkNumber('sample', sample, { min: 0, max: 1 })
  const pressed = options.sampleUnderPressure ?? Math.min(calm, 0.1)
  const line = format === 'json' ? jsonLine : combinedLine
  return {
    sampling: { calm, pressed: checkNumber('sampleUnderPressure', pressed, { min: 0, max: calm }) },
    isSecret: secretNames(redact),
    address,
    withSheds: checkBoolean('sheds', options.sheds ?? true),
    emit: logger === undefined ? (entry: AccessEntry) => write(line(entry)) : toLogger(logger),
  }
}

function toLogger(logger: FieldLogger): (entry: AccessEntry) => void {
  return entry => {
    const { status, outcome } = entry
    const level = status >= 500 && outcome !== 'shed' ? 'error' : always(status, outcome) ? 'warn' : 'info'
    logger[level](accessFields(entry), 'request')
  }
}

/** What the client tells of itself, and when it came. */
function client(
  request: IncomingMessage,
  agoMs: number,
  isSecret: IsSecret,
  address: 'full' | 'masked' | 'none',
): Pick<AccessEntry, 'time' | 'clfTime' | 'httpVersion' | 'remote' | 'referer' | 'userAgent'> {
  const came = dateAt(wallClockMs() - agoMs)
  const { referer, 'user-agent': userAgent } = request.headers
  return {
    time: came.toISOString(),
    clfTime: clfTime(came.toUTCString()),
    httpVersion: request.httpVersion,
    remote: address === 'none' ? undefined : addressOf(request, address),
    referer: referer === undefined ? undefined : redactTarget(referer, isSecret),
    userAgent,
  }
}

function addressOf(request: IncomingMessage, address: 'full' | 'masked'): string | undefined {
  const full = request.socket?.remoteAddress
  return full === undefined || address === 'full' ? full : masked(full)
}

/** IPv4 to its /24, IPv6 to its /48; an IPv4 address written as IPv6 counts as IPv4. */
export function masked(full: string): string {
  const four = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/i.exec(full)
  if (four !== null) return `${four[1]}.0`
  const [head = '', tail] = full.split('%')[0]!.split('::')
  const groups = head === '' ? [] : head.split(':')
  const rest = tail === undefined || tail === '' ? [] : tail.split(':')
  if (tail !== undefined) groups.push(...Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0'), ...rest)
  return `${groups.slice(0, 3).join(':')}::`
}

/** `Tue, 10 Oct 2000 20:55:36 GMT` as `10/Oct/2000:20:55:36 +0000`. */
function clfTime(utc: string): string {
  const [, day, month, year, clock] = utc.split(' ')
  return `${day}/${month}/${year}:${clock} +0000`
}
