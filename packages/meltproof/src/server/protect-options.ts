/** The options of protect(): declared, defaulted and checked in one place. */
import type { IncomingMessage } from 'node:http'
import { checkDeadlineHeaders, type DeadlineHeader } from '../deadline/headers.ts'
import { checkBoolean, checkFunction, checkNumber, invalidOption, rejectUnknown } from '../options.ts'
import { checkClientKey, type ClientKey } from './request/client-key.ts'
import type { CriticalityOf } from './request/criticality-of.ts'
import { DEFAULT_LANES } from './connection/lanes.ts'
import { warn } from './warnings.ts'
import { checkPeers, type FromPeer } from './request/peers.ts'
import { gaugeOf, MOST_POOLS, type PoolGauges } from './permit/pool-gauges.ts'
import type { ReadinessOptions } from './operate/readiness.ts'
import { HTML_PAGE, PROBLEM_JSON, type ShedAnswerOptions } from './response/own-answers.ts'

/** All optional; the defaults are meant for production. */
export interface ProtectOptions {
  /**
   * Listening sockets that accept connections in parallel, where the platform has `SO_REUSEPORT`; 1 for a single one.
   * @default 32
   */
  readonly lanes?: number
  /**
   * `Retry-After` of a shed answer in whole seconds: one number, or a range to spread returning clients over.
   * @default [1, 5]
   */
  readonly retryAfterS?: number | readonly [least: number, most: number]
  /**
   * Body of a shed answer: text with its content type. Sent to clients that do not prefer HTML.
   * @default RFC 9457 problem JSON
   */
  readonly shedBody?: { readonly type: string; readonly text: string }
  /**
   * HTML page of a shed answer, for clients that prefer HTML.
   * @default a short readable page
   */
  readonly shedPage?: string
  /**
   * How long a request may take from its arrival until its answer begins, ms. Then the client gets a `504` and
   * everything the handler started under `within()`, outbound calls and bound databases is cancelled; the same when
   * the client leaves. A request that can not be served in time is told so at once, with a `503`. Callers may wait less
   * long, never longer ({@link deadlineHeaders}).
   * @default no deadline
   * @example protect(server, { deadlineMs: 3000 })
   */
  readonly deadlineMs?: number
  /**
   * Header fields in which callers say how long they will wait; only with `deadlineMs`. An empty list reads none. Who says
   * so is told in that time; its work is cancelled only if it is trusted ({@link trustDeadlinesFrom}).
   * @default x-envoy-expected-rq-timeout-ms (milliseconds) and grpc-timeout
   */
  readonly deadlineHeaders?: readonly DeadlineHeader[]
  /**
   * Whose {@link deadlineHeaders} also cut what a request may do: everybody's, or those of peers at these addresses and
   * networks (`10.0.0.0/8`). The address is that of the connection: name a proxy only if it removes or sets these fields.
   * @default false
   * @example protect(server, { deadlineMs: 3000, trustDeadlinesFrom: ['10.0.0.0/8'] })
   */
  readonly trustDeadlinesFrom?: boolean | readonly string[]
  /**
   * How much a request matters: `critical_plus`, `critical`, `sheddable_plus` or `sheddable`, alone or with a key (a
   * user, a tenant) whose requests stand or fall together. Undefined: `critical`. Called only about requests that can not
   * start at once. One that throws or answers nonsense is reported once and counts as `critical`.
   * @default all are alike
   */
  readonly criticality?: CriticalityOf
  /**
   * Header field that names the class, set by a proxy of yours. Clients can forge any header they can send: name one only
   * if something in front of this server removes it from what comes from outside.
   * @default none is trusted
   */
  readonly criticalityHeader?: string
  /**
   * Whose request it is. While there is not enough for all, a client that asks for more than an equal share gets no more
   * than that: `'address'` (of the connection; of IPv6 the first 64 bits), a header field written by a proxy of yours, or
   * a function of the request. In a field that every proxy appends to, `proxies` says how many of yours there are
   * (1 unless given): what stands left of theirs anybody may have made up. Not together with `criticality`, which has
   * keys of its own.
   * @default it does not matter who asks
   * @example protect(server, { clientKey: { header: 'x-forwarded-for', proxies: 1 } })
   */
  readonly clientKey?: ClientKey
  /**
   * Requests that are never queued or shed: paths (one that ends in `*` covers all below it), or a function of the
   * request. For health checks and metrics.
   * @default none
   */
  readonly exempt?: readonly string[] | ((request: IncomingMessage) => boolean)
  /**
   * Serves a readiness page at this path, exempt from the gate: 200 also while shedding, 503 while draining, and above
   * `unreadyAbovePressure` if that is given. The body tells pressure, inflight and queued as JSON.
   * @default none
   */
  readonly readiness?: string | ReadinessOptions
  /**
   * How long the server goes on accepting and serving after `drain()` while it says that it is not ready, ms; at most half
   * of the time drain() is given. A balancer needs so long to send nobody any more: probe interval times failures.
   * @default as long as a request came or ended within the last second, up to 5,000
   * @example protect(server, { readiness: '/ready', drainDelayMs: 8000 }) // probed every 2 s, out after 3 failures
   */
  readonly drainDelayMs?: number
  /**
   * Say in `Server-Timing` how long an answer took us (`total`, and of that `queue` and `loop`, ms), so that whoever
   * calls can tell us from the network: to everybody, or to peers at these addresses and networks (`10.0.0.0/8`). It
   * tells a stranger how busy you are.
   * @default false
   */
  readonly serverTiming?: boolean | readonly string[]
  /**
   * Decide and count, but start everybody: `stats().shed` tells what would have been shed.
   * @default false
   */
  readonly dryRun?: boolean
  /**
   * How many may be in service at once, a whole number.
   * @default learned
   */
  readonly limit?: number
  /**
   * Pools whose waiting line is shown in `stats().pools` and by `explain()`: a pool of pg, mysql2 or undici, or a
   * function that tells how many wait, at once. One that fails or tells nonsense (a promise) is shown as 0 and reported
   * once.
   * @default none
   */
  readonly pools?: PoolGauges
  /**
   * Called with each sentence meltproof has to say (lanes it could not open, a failure inside it). May be async; a
   * sentence on which it throws or rejects becomes a warning.
   * @default process.emitWarning
   */
  readonly onWarning?: (note: string) => void
}

export interface CheckedOptions {
  readonly lanes: number
  readonly answer: ShedAnswerOptions
  readonly deadline:
    | { readonly limitMs: number; readonly headers: readonly DeadlineHeader[]; readonly trusts: FromPeer | undefined }
    | undefined
  readonly criticality: CriticalityOf | undefined
  readonly criticalityHeader: string | undefined
  readonly clientKey: ClientKey | undefined
  readonly exemptPaths: readonly string[]
  readonly exemptRequest: ((request: IncomingMessage) => boolean) | undefined
  readonly readiness: ReadinessOptions | undefined
  readonly drainDelayMs: number | undefined
  readonly tellsTiming: FromPeer | undefined
  readonly dryRun: boolean
  readonly limit: number | undefined
  readonly pools: ReadonlyMap<string, () => number>
  readonly onWarning: (note: string) => void
}

const KNOWN = [
  'lanes',
  'retryAfterS',
  'shedBody',
  'shedPage',
  'deadlineMs',
  'deadlineHeaders',
  'trustDeadlinesFrom',
  'criticality',
  'criticalityHeader',
  'clientKey',
  'exempt',
  'readiness',
  'drainDelayMs',
  'serverTiming',
  'dryRun',
  'limit',
  'pools',
  'onWarning',
] as const satisfies (keyof ProtectOptions)[]
/** More in service at once than this is no limit. */
const MOST_IN_SERVICE = 1_000_000
/** More listening sockets than this only cost file descriptors. */
const MOST_LANES = 128
/** A day: longer is not "retry", and RFC 9110 clients may overflow. */
const MOST_RETRY_S = 86_400
/** A day: who wants longer wants none. */
const MOST_DEADLINE_MS = 86_400_000
/** Half of the hour that drain() takes at most. */
const MOST_DRAIN_DELAY_MS = 1_800_000
const MOST_BODY_BYTES = 1 << 20

/** Fills in defaults; throws a MeltproofError for anything unknown or out of range. */
export function checkProtectOptions(options: ProtectOptions): CheckedOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    invalidOption('protect(server, options): options', 'an object', options)
  rejectUnknown('protect(server, options)', options, KNOWN)
  const { lanes = DEFAULT_LANES, retryAfterS = [1, 5], shedBody, shedPage = HTML_PAGE, onWarning = warn } = options
  const { deadlineMs, deadlineHeaders, trustDeadlinesFrom } = options
  if (typeof onWarning !== 'function') invalidOption('onWarning', 'a function', onWarning)
  if (typeof shedPage !== 'string') invalidOption('shedPage', 'a string of HTML', shedPage)
  const { criticality, criticalityHeader, exempt, readiness, dryRun = false, limit } = options
  return {
    lanes: checkNumber('lanes', lanes, { min: 1, max: MOST_LANES, whole: true }),
    answer: {
      retryAfterS: checkRetryAfter(retryAfterS),
      body: checkBody(shedBody),
      page: checkSize('shedPage', shedPage),
    },
    deadline: checkDeadline(deadlineMs, deadlineHeaders, trustDeadlinesFrom),
    criticality: checkFunction('criticality', criticality),
    criticalityHeader: checkHeader(criticalityHeader),
    clientKey: checkFairness(options),
    ...checkExempt(exempt),
    readiness: checkReadiness(readiness),
    drainDelayMs: checkDrainDelay(options.drainDelayMs),
    tellsTiming: checkPeers('serverTiming', options.serverTiming),
    dryRun: checkBoolean('dryRun', dryRun),
    limit: limit === undefined ? undefined : checkNumber('limit', limit, { min: 1, max: MOST_IN_SERVICE, whole: true }),
    pools: checkPools(options.pools),
    onWarning,
  }
}

function checkDeadline(limitMs: unknown, headers: unknown, trusted: unknown): CheckedOptions['deadline'] {
  if (limitMs !== undefined) {
    return {
      limitMs: checkNumber('deadlineMs', limitMs, { min: 1, max: MOST_DEADLINE_MS, unit: 'ms' }),
      headers: checkDeadlineHeaders('deadlineHeaders', headers),
      trusts: checkPeers('trustDeadlinesFrom', trusted),
    }
  }
  if (headers !== undefined)
    invalidOption('deadlineHeaders', 'given together with deadlineMs, which they shorten', headers)
  if (trusted !== undefined) invalidOption('trustDeadlinesFrom', 'given together with deadlineMs', trusted)
  return undefined
}

function checkHeader(name: unknown): string | undefined {
  if (name === undefined) return undefined
  if (typeof name !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
    invalidOption('criticalityHeader', 'the name of a header field', name)
  }
  return name.toLowerCase()
}

function checkFairness({ clientKey, criticality, criticalityHeader }: ProtectOptions): ClientKey | undefined {
  const key = checkClientKey(clientKey)
  if (key !== undefined && (criticality !== undefined || criticalityHeader !== undefined))
    invalidOption(
      'clientKey',
      'given without criticality and criticalityHeader, which decide who goes first',
      clientKey,
    )
  return key
}

function checkExempt(exempt: ProtectOptions['exempt']): Pick<CheckedOptions, 'exemptPaths' | 'exemptRequest'> {
  if (exempt === undefined) return { exemptPaths: [], exemptRequest: undefined }
  if (typeof exempt === 'function') return { exemptPaths: [], exemptRequest: exempt }
  if (!Array.isArray(exempt)) invalidOption('exempt', 'a list of paths or a function of the request', exempt)
  for (const [index, path] of exempt.entries()) checkPath(`exempt[${index}]`, path)
  return { exemptPaths: exempt, exemptRequest: undefined }
}

function checkPools(pools: unknown): ReadonlyMap<string, () => number> {
  if (pools === undefined) return new Map()
  if (typeof pools !== 'object' || pools === null || Array.isArray(pools)) {
    invalidOption('pools', 'an object of pools by name', pools)
  }
  const entries = Object.entries(pools)
  if (entries.length > MOST_POOLS) invalidOption('pools', `at most ${MOST_POOLS} of them`, `${entries.length} of them`)
  return new Map(
    entries.map(([name, pool]) => [
      name,
      gaugeOf(pool) ?? invalidOption(`pools.${name}`, 'a pool of pg, mysql2 or undici, or a function', pool),
    ]),
  )
}

function checkPath(name: string, path: unknown): string {
  if (typeof path !== 'string' || !path.startsWith('/') || /[?#\s]/.test(path)) {
    invalidOption(name, "a path that begins with '/', without a query", path)
  }
  return path
}

function checkReadinessPath(name: string, path: unknown): string {
  const checked = checkPath(name, path)
  if (checked.endsWith('*')) invalidOption(name, 'one path, without a wildcard', path)
  return checked
}

function checkReadiness(readiness: unknown): ReadinessOptions | undefined {
  if (readiness === undefined) return undefined
  if (typeof readiness === 'string') return { path: checkReadinessPath('readiness', readiness) }
  if (typeof readiness !== 'object' || readiness === null) {
    invalidOption('readiness', 'a path, or { path, unreadyAbovePressure }', readiness)
  }
  rejectUnknown('readiness', readiness, ['path', 'unreadyAbovePressure'])
  const { path, unreadyAbovePressure } = readiness as { path?: unknown; unreadyAbovePressure?: unknown }
  if (unreadyAbovePressure === undefined) return { path: checkReadinessPath('readiness.path', path) }
  return {
    path: checkReadinessPath('readiness.path', path),
    unreadyAbovePressure: checkNumber('readiness.unreadyAbovePressure', unreadyAbovePressure, { min: 0, max: 1 }),
  }
}

function checkDrainDelay(delayMs: unknown): number | undefined {
  if (delayMs === undefined) return undefined
  return checkNumber('drainDelayMs', delayMs, { min: 0, max: MOST_DRAIN_DELAY_MS, unit: 'milliseconds' })
}

function checkRetryAfter(value: unknown): [number, number] {
  const range = { min: 1, max: MOST_RETRY_S, whole: true, unit: 'seconds' }
  if (!Array.isArray(value)) {
    const seconds = checkNumber('retryAfterS', value, range)
    return [seconds, seconds]
  }
  if (value.length !== 2) invalidOption('retryAfterS', 'a number of seconds or a range [least, most]', value)
  const least = checkNumber('retryAfterS[0]', value[0], range)
  const most = checkNumber('retryAfterS[1]', value[1], { ...range, min: least })
  return [least, most]
}

function checkBody(body: unknown): { type: string; text: string } {
  if (body === undefined) return { type: 'application/problem+json', text: PROBLEM_JSON }
  if (typeof body === 'object' && body !== null) rejectUnknown('shedBody', body, ['type', 'text'])
  const { type, text } = (body ?? {}) as { type?: unknown; text?: unknown }
  if (typeof text !== 'string' || typeof type !== 'string') {
    invalidOption('shedBody', '{ type, text }, both strings', body)
  }
  // It becomes a header line: printable ASCII only, so that it can not end the line.
  if (!/^[\x20-\x7e]+$/.test(type)) invalidOption('shedBody.type', 'a content type in printable ASCII', type)
  return { type, text: checkSize('shedBody.text', text) }
}

function checkSize(name: string, text: string): string {
  if (Buffer.byteLength(text) > MOST_BODY_BYTES) invalidOption(name, `at most ${MOST_BODY_BYTES} bytes`, text)
  return text
}
