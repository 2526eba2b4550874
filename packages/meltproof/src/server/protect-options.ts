import type { IncomingMessage } from 'node:http'
import { checkDeadlineHeaders, type DeadlineHeader } from '../deadline/headers.ts'
import {
  checkBoolean,
  checkFieldName,
  checkFunction,
  checkNumber,
  checkObject,
  invalidOption,
  rejectUnknown,
} from '../options.ts'
import { DEFAULT_LANES } from './connection/lanes.ts'
import type { KindName } from './gate/request-kinds.ts'
import type { ReadinessOptions } from './operate/readiness.ts'
import { checkClientKey, type ClientKey } from './request/client-key.ts'
import type { CriticalityOf } from './request/criticality-of.ts'
import { checkPeers, type FromPeer } from './request/peers.ts'
import { HTML_PAGE, SHED_PROBLEM } from './response/own-answers.ts'
import { checkShedHeaders } from './response/shed-headers.ts'
import { type Warn, warn } from '../warnings.ts'

/** All options are optional; the defaults are meant for production. */
export interface ProtectOptions {
  /** Listening sockets that accept in parallel, where the platform has `SO_REUSEPORT`; 1 for one socket. @default 32 */
  readonly lanes?: number
  /** `Retry-After` of a shed answer in whole seconds, or a range from which it is drawn at random. @default [1, 5] */
  readonly retryAfterS?: number | readonly [least: number, most: number]
  /**
   * Header fields of a shed answer, such as those of CORS (docs/proxies.md). Fields that frame the message, or that
   * meltproof writes, are not allowed.
   * @default none
   * @example protect(server, { shedHeaders: { 'access-control-allow-origin': 'https://shop.example' } })
   */
  readonly shedHeaders?: Readonly<Record<string, string>>
  /** Body of a shed answer, for clients that do not prefer HTML. @default RFC 9457 problem JSON */
  readonly shedBody?: { readonly type: string; readonly text: string }
  /** HTML page of a shed answer, for clients that prefer HTML. @default a short readable page */
  readonly shedPage?: string
  /**
   * How long a request may take from its arrival until its answer begins, ms. Then the client gets a `504`, and the
   * work under `within()`, in outbound calls and bound databases is cancelled. See docs/choose-a-deadline.md.
   * @default no deadline
   * @example protect(server, { deadlineMs: 3000 })
   */
  readonly deadlineMs?: number
  /**
   * Header fields in which callers send a shorter deadline; only with `deadlineMs`. An empty list reads none.
   * @default x-envoy-expected-rq-timeout-ms (milliseconds) and grpc-timeout
   */
  readonly deadlineHeaders?: readonly DeadlineHeader[]
  /**
   * Callers that are your own tiers: all, or the peers at these addresses and networks (`10.0.0.0/8`). Their
   * {@link deadlineHeaders} also cancel the work, requests that they mark as retries are not retried further down, and
   * the criticality that they send is passed on. The {@link criticalityHeader} of all other callers is then ignored.
   * The address is that of the connection: name a proxy only if it removes or sets these fields.
   * @default false
   * @experimental
   * @example protect(server, { trustCallersFrom: ['10.0.0.0/8'] })
   */
  readonly trustCallersFrom?: boolean | readonly string[]
  /**
   * How important a request is: `critical_plus`, `critical`, `sheddable_plus` or `sheddable`, alone or with a key (a
   * user, a tenant) whose requests should be served or shed together. Undefined, an exception or an invalid value mean
   * `critical`. Called only for requests that cannot start at once, for those that call a tier in `tellTo` and, with
   * `tellTo` or {@link trustCallersFrom}, for those whose client leaves early.
   * @default all requests are equal
   */
  readonly criticality?: CriticalityOf
  /**
   * Header field that carries the criticality. Clients can forge it: without {@link trustCallersFrom}, a proxy in front
   * of this server must remove it from external requests.
   * @default none is trusted
   */
  readonly criticalityHeader?: string
  /**
   * Identifies the client of a request: `'address'` (of the connection), a header field to which your proxies append
   * (`proxies` is their number), or a function of the request. Under overload no client gets more than a fair share
   * (docs/priorities.md). Not with `criticality` (it has its own keys) or `criticalityHeader`.
   * @default clients are not distinguished
   * @example protect(server, { clientKey: { header: 'x-forwarded-for', proxies: 1 } })
   */
  readonly clientKey?: ClientKey
  /**
   * Names the kind of a request when its path does not, such as a GraphQL operation. Under overload kinds share
   * capacity fairly (docs/fairness.md). Undefined means the path. Called once for each request that is not exempt, when
   * only its head has arrived.
   * @default the path
   * @example protect(server, { kind: request => /^\/rpc\?method=(\w+)/.exec(request.url ?? '')?.[1] })
   */
  readonly kind?: KindName
  /**
   * Requests that are never queued or shed, such as health checks: paths (one that ends in `*` covers all below it), or
   * a function of the request.
   * @default none
   */
  readonly exempt?: readonly string[] | ((request: IncomingMessage) => boolean)
  /**
   * Path of an exempt readiness page: 200 even while requests are shed, 503 while draining and above
   * `unreadyAbovePressure`. The body has pressure, inflight and queued as JSON.
   * @default none
   */
  readonly readiness?: string | ReadinessOptions
  /**
   * How long the server still accepts connections after `drain()`, ms; at most half of the time given to drain(). Set
   * it to the time that balancers need to stop sending: probe interval times failures, plus a second.
   * @default until no request has arrived or ended for one second, up to 5,000
   * @example protect(server, { readiness: '/ready', drainDelayMs: 7000 }) // probed every 2 s, out after 3 failures
   */
  readonly drainDelayMs?: number
  /**
   * Send `Server-Timing` with the time that this server took (`total`, and its parts `queue` and `loop`, ms) to all
   * clients, or to peers at these addresses and networks. The field shows strangers how busy you are.
   * @default false
   */
  readonly serverTiming?: boolean | readonly string[]
  /**
   * Report the load of this server to Envoy and gRPC (docs/deploy/envoy.md): to all peers, or to those whose connection
   * comes from these addresses and networks. A report shows strangers how busy you are.
   * @default false
   * @experimental
   * @example protect(server, { reportLoadTo: ['10.0.0.0/8'] })
   */
  readonly reportLoadTo?: boolean | readonly string[]
  /** Count sheds in `stats().shed`, but start every request. @default false */
  readonly dryRun?: boolean
  /** How many requests may be in service at once, a whole number. @default learned */
  readonly limit?: number
  /**
   * Called with each warning. May be async. When it throws or rejects, the warning goes to `process.emitWarning`.
   * @default process.emitWarning
   */
  readonly onWarning?: (warning: string) => void
}

type Options = Required<ProtectOptions>
type Optional = 'deadlineMs' | 'criticality' | 'criticalityHeader' | 'clientKey' | 'kind' | 'drainDelayMs' | 'limit'

interface Converted {
  readonly retryAfterS: readonly [number, number]
  readonly trustCallersFrom: FromPeer | undefined
  readonly readiness: ReadinessOptions | undefined
  readonly serverTiming: FromPeer | undefined
  readonly reportLoadTo: FromPeer | undefined
}

export type CheckedOptions = Converted &
  Omit<Options, Optional | keyof Converted> & { readonly [Name in Optional]: Options[Name] | undefined }

/** One day: more would be neither a useful retry nor a useful deadline. */
const DAY_S = 86_400
const DAY_MS = 86_400_000
/** Half of drain()'s maximum timeout, which is an hour. */
const MOST_DRAIN_DELAY_MS = 1_800_000
/** More listening sockets would only cost file descriptors. */
const MOST_LANES = 128
const MOST_BODY_BYTES = 1 << 20

const CHECKS: { readonly [Name in keyof CheckedOptions]: (value: unknown) => CheckedOptions[Name] } = {
  lanes: (value = DEFAULT_LANES) => checkNumber('lanes', value, { min: 1, max: MOST_LANES, whole: true }),
  retryAfterS: (value = [1, 5]) => checkRetryAfter(value),
  shedHeaders: (value = {}) => checkShedHeaders('shedHeaders', value),
  shedBody: (value = SHED_PROBLEM) => checkBody(value),
  shedPage: (value = HTML_PAGE) => checkText('shedPage', value, 'a string of HTML'),
  deadlineMs: optional('deadlineMs', { min: 1, max: DAY_MS, unit: 'ms' }),
  deadlineHeaders: value => checkDeadlineHeaders('deadlineHeaders', value),
  trustCallersFrom: value => checkPeers('trustCallersFrom', value),
  criticality: value => checkFunction('criticality', value as CriticalityOf | undefined),
  criticalityHeader: value => (value === undefined ? undefined : checkFieldName('criticalityHeader', value)),
  clientKey: checkClientKey,
  kind: value => checkFunction('kind', value as KindName | undefined),
  exempt: (value = []) => checkExempt(value),
  readiness: value => (value === undefined ? undefined : checkReadiness(value)),
  drainDelayMs: optional('drainDelayMs', { min: 0, max: MOST_DRAIN_DELAY_MS, unit: 'milliseconds' }),
  serverTiming: value => checkPeers('serverTiming', value),
  reportLoadTo: value => checkPeers('reportLoadTo', value),
  dryRun: (value = false) => checkBoolean('dryRun', value),
  limit: optional('limit', { min: 1, max: 1_000_000, whole: true }),
  onWarning: value => checkFunction('onWarning', value as Warn | undefined) ?? warn,
}

/** Fills in defaults. Throws a MeltproofError for an unknown option or a value out of range. */
export function checkProtectOptions(options: ProtectOptions): CheckedOptions {
  checkObject('protect(server, options): options', options, 'an object')
  rejectUnknown('protect(server, options)', options, Object.keys(CHECKS))
  const given = options as Readonly<Record<string, unknown>>
  const checked = Object.fromEntries(Object.entries(CHECKS).map(([name, check]) => [name, check(given[name])]))
  const { deadlineMs, criticality, criticalityHeader, clientKey } = options
  if (deadlineMs === undefined && given.deadlineHeaders !== undefined) {
    invalidOption('deadlineHeaders', 'given together with deadlineMs', given.deadlineHeaders)
  }
  if (clientKey !== undefined && (criticality !== undefined || criticalityHeader !== undefined)) {
    const expected = 'given without criticality and criticalityHeader, which set the priority of requests'
    invalidOption('clientKey', expected, clientKey)
  }
  return checked as unknown as CheckedOptions
}

function optional(name: string, range: Parameters<typeof checkNumber>[2]): (value: unknown) => number | undefined {
  return value => (value === undefined ? undefined : checkNumber(name, value, range))
}

function checkExempt(exempt: unknown): CheckedOptions['exempt'] {
  if (typeof exempt === 'function') return exempt as (request: IncomingMessage) => boolean
  if (!Array.isArray(exempt)) invalidOption('exempt', 'a list of paths or a function of the request', exempt)
  for (const [index, path] of exempt.entries()) checkPath(`exempt[${index}]`, path)
  return exempt
}

function checkPath(name: string, path: unknown): string {
  if (typeof path !== 'string' || !path.startsWith('/') || /[?#\s]/.test(path)) {
    invalidOption(name, "a path that begins with '/', without a query", path)
  }
  return path
}

function checkReadiness(readiness: unknown): ReadinessOptions {
  const isPath = typeof readiness === 'string'
  if (!isPath) checkObject('readiness', readiness, 'a path, or { path, unreadyAbovePressure }')
  const given: Partial<ReadinessOptions> = isPath ? { path: readiness } : (readiness as object)
  rejectUnknown('readiness', given, ['path', 'unreadyAbovePressure'])
  const name = isPath ? 'readiness' : 'readiness.path'
  const path = checkPath(name, given.path)
  if (path.endsWith('*')) invalidOption(name, 'one path, without a wildcard', path)
  const { unreadyAbovePressure = 1 } = given
  const range = { min: 0, max: 1 }
  return { path, unreadyAbovePressure: checkNumber('readiness.unreadyAbovePressure', unreadyAbovePressure, range) }
}

function checkRetryAfter(value: unknown): [number, number] {
  const range = { min: 1, max: DAY_S, whole: true, unit: 'seconds' }
  if (!Array.isArray(value)) {
    const seconds = checkNumber('retryAfterS', value, range)
    return [seconds, seconds]
  }
  if (value.length !== 2) invalidOption('retryAfterS', 'a number of seconds or a range [least, most]', value)
  const least = checkNumber('retryAfterS[0]', value[0], range)
  return [least, checkNumber('retryAfterS[1]', value[1], { ...range, min: least })]
}

function checkBody(body: unknown): CheckedOptions['shedBody'] {
  const expected = '{ type, text }, both strings'
  checkObject('shedBody', body, expected)
  rejectUnknown('shedBody', body, ['type', 'text'])
  const { type, text } = body as { type?: unknown; text?: unknown }
  if (typeof text !== 'string' || typeof type !== 'string') invalidOption('shedBody', expected, body)
  // The type becomes a header line, so it must be printable ASCII and cannot contain a line break.
  if (!/^[\x20-\x7e]+$/.test(type)) invalidOption('shedBody.type', 'a content type in printable ASCII', type)
  return { type, text: checkText('shedBody.text', text, 'a string') }
}

function checkText(name: string, text: unknown, expected: string): string {
  if (typeof text !== 'string') invalidOption(name, expected, text)
  if (Buffer.byteLength(text) > MOST_BODY_BYTES) invalidOption(name, `at most ${MOST_BODY_BYTES} bytes`, text)
  return text
}
