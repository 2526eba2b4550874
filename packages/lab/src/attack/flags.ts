/** The parsed flags of `meltlab attack` and their defaults, with durations as a user would write them. */
import type { Spacing } from '../load/plan.ts'
import type { Given, TlsFlags } from '../option-values.ts'
import type { Expectation } from './expectation.ts'

export const DEFAULTS = {
  /** At 100 requests per second, ten seconds give a p99 over a thousand requests. */
  duration: '10s',
  /** The rate per second when neither --rate nor --users is given. */
  rate: 50,
  /** People rarely wait longer; a request without an answer within this time has failed. */
  timeout: '10s',
  slo: '1s',
  /** Standing connections of an open loop. When all are busy, the generator opens more, up to `mostConnections`. */
  connections: 50,
  mostConnections: 10_000,
  /** Concurrent requests on one HTTP/2 connection: RFC 9113 recommends that servers allow at least this many. */
  streams: 100,
} as const

export interface Flags
  extends TlsFlags,
    Given<'duration' | 'timeout' | 'slo', number>,
    Partial<Given<'rate' | 'users' | 'rampTo' | 'connections' | 'streams' | 'think' | 'threads', number>>,
    Partial<Given<'method' | 'body' | 'targets' | 'har' | 'journey' | 'html', string>>,
    Partial<Given<'fresh' | 'http2' | 'json' | 'quiet', true>> {
  readonly steps?: readonly number[]
  readonly spacing: Spacing
  readonly header?: readonly string[]
  readonly expect?: readonly Expectation[]
  readonly export?: 'k6'
}
