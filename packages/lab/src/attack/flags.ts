/** The flags of `meltlab attack` as they are parsed, and their defaults, durations as a user would write them. */
import type { Spacing } from '../load/plan.ts'
import type { TlsFlags } from '../option-values.ts'
import type { Expectation } from './expectation.ts'

export const DEFAULTS = {
  /** Long enough for a p99 of a thousand requests at a modest rate. */
  duration: '10s',
  /** Arrivals per second when neither --rate nor --users is given. */
  rate: 50,
  /** What people still wait for; a request without an answer until then has failed. */
  timeout: '10s',
  slo: '1s',
  /** Standing connections of an open loop; it opens more, up to `mostConnections`, when all are busy. */
  connections: 50,
  mostConnections: 10_000,
  /** Requests at once on a connection of HTTP/2: what RFC 9113 asks servers to allow at least. */
  streams: 100,
  seed: 1,
} as const

export interface Flags extends TlsFlags {
  readonly rate?: number
  readonly steps?: readonly number[]
  readonly users?: number
  readonly rampTo?: number
  readonly duration: number
  readonly connections?: number
  readonly fresh?: true
  readonly http2?: true
  readonly streams?: number
  readonly timeout: number
  readonly slo: number
  readonly think?: number
  readonly spacing: Spacing
  readonly seed: number
  readonly threads?: number
  readonly method?: string
  readonly header?: readonly string[]
  readonly body?: string
  readonly targets?: string
  readonly har?: string
  readonly journey?: string
  readonly expect?: readonly Expectation[]
  readonly json?: true
  readonly csv?: string
  readonly export?: 'k6'
  readonly html?: string
  readonly quiet?: true
}
