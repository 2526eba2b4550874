/**
 * What the result of another tool says, in our words. What it does not say is null, never made up. Types and helpers only.
 */
import { Histogram } from '../../load/histogram.ts'
import { type LatencyFigures, latencyFigures } from '../../report/load-figures.ts'

export interface ForeignResult {
  readonly tool: 'k6' | 'vegeta' | 'autocannon'
  readonly url: string | null
  /** ISO 8601. */
  readonly startedAt: string | null
  readonly durationMs: number | null
  /** Sent. */
  readonly requests: number | null
  /** Were due and never sent. */
  readonly unsent: number | null
  /** By status. */
  readonly answered: Readonly<Record<string, number>> | null
  /** Answers 2xx and 3xx. */
  readonly ok: number | null
  /** Got no complete answer. */
  readonly failed: number | null
  /** Whose latencies these are, such as `all requests`. */
  readonly latencyOf: string
  readonly latencyMs: LatencyFigures
  readonly bytesRead: number | null
  /** What else it says of the load, by name: numbers that are about the same when the load is. */
  readonly load: Readonly<Record<string, number | null>>
  /** How the tool measures, where that is not as we do. */
  readonly remarks: readonly string[]
}

export type Members = Readonly<Record<string, unknown>>

export function membersOf(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

/** A figure that is none; the message says where and what. */
export class Broken extends Error {}

/** Null for what is missing. @throws Broken for what is no count and no duration */
export function numberAt(members: Members | undefined, name: string): number | null {
  const value = members?.[name] ?? null
  if (value === null || (typeof value === 'number' && Number.isFinite(value) && value >= 0)) return value
  const got = typeof value === 'object' ? 'something else' : JSON.stringify(value).slice(0, 40)
  throw new Broken(`${name} must be a number of at least 0, got ${got}`)
}

export function textAt(members: Members | undefined, name: string): string | null {
  const value = members?.[name]
  return typeof value === 'string' && value !== '' ? value : null
}

/** As we write it. */
export function timeAt(members: Members | undefined, name: string): string | null {
  const text = textAt(members, name)
  const ms = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? null : new Date(ms).toISOString()
}

export const isOk = (status: string | number): boolean => Number(status) >= 200 && Number(status) < 400

/** One request as a line of a result tells it; ms since 1970, milliseconds, 0 without an answer, null where it is not said. */
export interface ForeignRequest {
  readonly atMs: number
  readonly latencyMs: number
  readonly status: number | null
}

/** @throws Broken where one of the three is missing */
export function requestAt(time: string | null, latencyMs: number | null, status: number | null): ForeignRequest {
  const atMs = Date.parse(time ?? '')
  if (latencyMs === null) throw new Broken('a request without its latency')
  if (Number.isNaN(atMs)) throw new Broken('a request without its time')
  return { atMs, latencyMs, status }
}

/** Of requests told one by one. */
export class ForeignRequests {
  count = 0
  readonly #answered: Record<string, number> = {}
  readonly #ok = new Histogram()
  readonly #all = new Histogram()
  #failed = 0
  #first = Number.POSITIVE_INFINITY
  #last = Number.NEGATIVE_INFINITY
  #allStatuses = true

  add({ atMs, latencyMs, status }: ForeignRequest): void {
    this.count++
    this.#all.record(latencyMs)
    if (status === null) this.#allStatuses = false
    else if (status === 0) this.#failed++
    else this.#answered[status] = (this.#answered[status] ?? 0) + 1
    if (status !== null && isOk(status)) this.#ok.record(latencyMs)
    this.#first = Math.min(this.#first, atMs)
    this.#last = Math.max(this.#last, atMs)
  }

  result(
    tool: ForeignResult['tool'],
    more: Pick<ForeignResult, 'url' | 'unsent' | 'bytesRead' | 'remarks'>,
  ): ForeignResult {
    const told = this.#allStatuses
    return {
      tool,
      startedAt: new Date(this.#first).toISOString(),
      durationMs: this.#last - this.#first,
      requests: this.count,
      answered: told ? this.#answered : null,
      ok: told ? this.#ok.count : null,
      failed: told ? this.#failed : null,
      latencyOf: told ? 'answers 2xx and 3xx' : 'all requests',
      latencyMs: latencyFigures(told ? this.#ok : this.#all),
      load: {},
      ...more,
    }
  }
}

/** In rising order. Not the least: autocannon's lies above the median where most answers take less than a millisecond. */
const RISING = ['p50', 'p90', 'p95', 'p99', 'p999', 'max'] as const
/** Percentiles are estimates. */
const SLACK = 1.01

/** Where a result contradicts itself; undefined where it does not. */
export function contradictionOf({ requests, answered, ok, latencyMs }: ForeignResult): string | undefined {
  const answers = answered === null ? ok : Object.values(answered).reduce((sum, times) => sum + times, 0)
  if (requests !== null && answers !== null && answers > requests) return `${answers} answers to ${requests} requests`
  if (ok !== null && ok < 0) return 'more failed requests than requests'
  const known = RISING.flatMap(name => (latencyMs[name] === null ? [] : { name, ms: latencyMs[name] }))
  const falling = known.findIndex(({ ms }, at) => at > 0 && known[at - 1]!.ms > ms * SLACK)
  if (falling === -1) return undefined
  const [one, other] = known.slice(falling - 1) as [(typeof known)[0], (typeof known)[0]]
  return `a ${one.name} of ${one.ms} ms above a ${other.name} of ${other.ms} ms`
}
