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
  /** How the tool measures, where that is not as we do. */
  readonly remarks: readonly string[]
}

export type Members = Readonly<Record<string, unknown>>

export function membersOf(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

/** Null for what is missing, or no such number. */
export function numberAt(members: Members | undefined, name: string): number | null {
  const value = members?.[name]
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null
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

/** One request as a line of a result tells it; ms since 1970, milliseconds, 0 without an answer. */
export interface ForeignRequest {
  readonly atMs: number
  readonly latencyMs: number
  readonly status: number
}

/** Of requests told one by one. */
export function fromRequests(
  tool: ForeignResult['tool'],
  requests: readonly ForeignRequest[],
  more: Pick<ForeignResult, 'url' | 'bytesRead' | 'remarks'>,
): ForeignResult {
  const answered: Record<string, number> = {}
  const ok = new Histogram()
  let failed = 0
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const { atMs, latencyMs, status } of requests) {
    if (status === 0) failed++
    else answered[status] = (answered[status] ?? 0) + 1
    if (isOk(status)) ok.record(latencyMs)
    first = Math.min(first, atMs)
    last = Math.max(last, atMs)
  }
  return {
    tool,
    startedAt: new Date(first).toISOString(),
    durationMs: last - first,
    requests: requests.length,
    unsent: null,
    answered,
    ok: ok.count,
    failed,
    latencyOf: 'answers 2xx and 3xx',
    latencyMs: latencyFigures(ok),
    ...more,
  }
}
