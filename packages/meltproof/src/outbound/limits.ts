/** The limits of outbound calls: defaults, overrides by origin, and the resulting limits of a call. Pure. */
import { checkDeadlineHeaders, DEADLINE_HEADERS, type DeadlineHeader, shortened } from '../deadline/headers.ts'
import { checkBoolean, checkNumber, checkObject, invalidOption, rejectUnknown } from '../options.ts'
import type { Fields, Given } from './headers.ts'
import { OriginTable } from './origin-table.ts'

/** The limits of one call. `false` switches a limit off. @experimental */
export interface CallLimits {
  /** Time to open a connection: DNS, TCP and TLS, without the wait for a free one. Milliseconds. @default 3000 */
  readonly connectMs: number | false
  /** From the end of the request to the head of the answer. Milliseconds. @default 10000 */
  readonly firstByteMs: number | false
  /** Between two chunks of the response body, while this side is reading. Milliseconds. @default 5000 */
  readonly idleMs: number | false
  /** Minimum rate of a body, in bytes per second over each 5 s in which this side reads. @default false */
  readonly minBytesPerSecond: number | false
  /** The whole call, until the last byte of the body. Milliseconds. @default 10000 */
  readonly totalMs: number | false
  /**
   * Longest silence of a stream (event stream, NDJSON, ...) after its head, and from then on its only limit.
   * Milliseconds.
   * @default 900000
   */
  readonly streamIdleMs: number | false
  /** Calls in flight to one origin, each until its body has ended; further calls fail at once. @default 1000 */
  readonly maxInFlight: number | false
  /** Learn how many calls in flight to an origin still raise its throughput; calls above that wait. @default false */
  readonly adaptive: boolean
}

/** @experimental */
export interface OutboundLimits extends Partial<CallLimits> {
  /**
   * Limits by origin: `https://search.internal`, `https://*.amazonaws.com`. `false`: no limits. The most specific wins.
   */
  readonly origins?: Readonly<Record<string, Partial<CallLimits> | false>>
  /**
   * Origins that are your own tiers: `['http://prices:8080', 'http://*.svc.cluster.local']`, `['*']` for all. Calls to
   * them carry the remaining time, the criticality, and the mark of a retry. This exposes internals of your system.
   * @default none
   */
  readonly tellTo?: readonly string[]
  /** Fields for the remaining time. @default [{ name: 'x-envoy-expected-rq-timeout-ms', format: 'milliseconds' }] */
  readonly deadlineHeaders?: readonly DeadlineHeader[]
}

/** For calls between services. connectMs allows for two lost SYNs: Linux (since 6.5) repeats one after 1 s and 2 s. */
export const DEFAULT_LIMITS: CallLimits = {
  connectMs: 3_000,
  firstByteMs: 10_000,
  idleMs: 5_000,
  minBytesPerSecond: false,
  totalMs: 10_000,
  streamIdleMs: 900_000,
  maxInFlight: 1_000,
  adaptive: false,
}

/**
 * For apps that did not ask for limits. They end only calls that are certainly dead: long polls may answer after ten
 * minutes, watches may be silent for hours, and downloads may take any time. A connect ends first by undici's timer
 * (10 s) or the kernel's (about 130 s), with a code that clients retry. Only handshakes of TLS and proxies hang longer.
 */
export const ZERO_CODE_LIMITS: CallLimits = {
  connectMs: 150_000,
  firstByteMs: 900_000,
  idleMs: false,
  minBytesPerSecond: false,
  totalMs: false,
  streamIdleMs: false,
  maxInFlight: false,
  adaptive: false,
}

/** The window of minBytesPerSecond, ms. A sender with bursts and pauses is judged by its average. */
export const RATE_WINDOW_MS = 5_000

/** The maximum delay of Node's timers is 2^31 - 1 ms, 24.8 days. */
export const LONGEST_MS: number = 2 ** 31 - 1

const NAMES = Object.keys(DEFAULT_LIMITS)

export class LimitTable {
  readonly everywhere: CallLimits
  readonly tells: boolean
  /** At least one origin has a learned limit. */
  readonly adapts: boolean
  readonly #limits: OriginTable<CallLimits | false> = new OriginTable()
  readonly #told: OriginTable<true> = new OriginTable()
  readonly #deadlineHeaders: readonly DeadlineHeader[]

  constructor(options: OutboundLimits, defaults: CallLimits = DEFAULT_LIMITS) {
    checkObject('the limits', options, 'an object such as { totalMs: 5000 }')
    rejectUnknown('meltproof/outbound', options, [...NAMES, 'origins', 'tellTo', 'deadlineHeaders'])
    const { origins = {}, tellTo = [], deadlineHeaders = DEADLINE_HEADERS.slice(0, 1), ...everywhere } = options
    this.everywhere = checkLimits('', everywhere, defaults)
    checkObject('origins', origins, 'an object keyed by origin')
    for (const [origin, given] of Object.entries(origins)) {
      const name = `origins['${origin}']`
      if (given !== false) {
        checkObject(name, given, 'an object of limits, or false')
        rejectUnknown(name, given, NAMES)
      }
      this.#limits.set('a key of origins', origin, given && checkLimits(`${name}.`, given, this.everywhere))
    }
    this.adapts = this.everywhere.adaptive || Object.values(origins).some(given => given !== false && given.adaptive)
    if (!Array.isArray(tellTo)) invalidOption('tellTo', 'a list of origins', tellTo)
    for (const [i, origin] of tellTo.entries()) this.#told.set(`tellTo[${i}]`, origin, true)
    this.tells = tellTo.length > 0
    this.#deadlineHeaders = checkDeadlineHeaders('deadlineHeaders', deadlineHeaders)
  }

  of(origin: string): CallLimits | false {
    return this.#limits.of(origin) ?? this.everywhere
  }

  isTold(origin: string): boolean {
    return this.tells && this.#told.of(origin) === true
  }

  deadlineFields(leftMs: number, given: Given): Fields {
    return this.#deadlineHeaders.flatMap(header => {
      const value = shortened(given(header.name), leftMs, header)
      return value === undefined ? [] : [[header.name, value] as const]
    })
  }
}

function checkLimits(prefix: string, given: Partial<CallLimits>, defaults: CallLimits): CallLimits {
  const limits: Record<string, number | boolean> = { ...defaults }
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    if (name === 'adaptive') limits[name] = checkBoolean(prefix + name, value)
    else if (value === false) limits[name] = false
    else if (name === 'maxInFlight') {
      limits[name] = checkNumber(prefix + name, value, { min: 1, max: 1_000_000, whole: true })
    } else if (name === 'minBytesPerSecond') {
      limits[name] = checkNumber(prefix + name, value, { min: 0.001, max: 1e12, unit: 'bytes' })
    } else limits[name] = checkDuration(prefix + name, value)
  }
  return limits as unknown as CallLimits
}

export function checkDuration(name: string, value: unknown): number | false {
  return value === false ? false : checkNumber(name, value, { min: 1, max: LONGEST_MS, unit: 'milliseconds' })
}
