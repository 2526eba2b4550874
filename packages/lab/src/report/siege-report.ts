/**
 * A closed loop in siege's words (4.0): the same lines, and what they count is what siege counts. Pure.
 *
 * A hit is an answer below 500; available is the share of hits among hits and failures; failures are answers from 500 on
 * and requests without an answer; successful are answers below 400. Its times are those of hits. What differs: an answer that
 * breaks off has failed here, while siege counts it as a hit; and times of 5xx other than 503 are among those of hits.
 */
import { Histogram } from '../load/histogram.ts'
import type { LoadOutcome } from '../load/plan.ts'

const MEGABYTE = 1_048_576

export const siegeReport = (outcome: LoadOutcome): string => {
  const seconds = Math.max(0.001, outcome.elapsedMs / 1000)
  const statuses = Object.entries(outcome.answered)
  const below = (limit: number): number =>
    statuses.reduce((sum, [status, times]) => sum + (Number(status) < limit ? times : 0), 0)
  const hits = below(500)
  const failed = outcome.sent - hits
  const times = Histogram.merged([outcome.okLatency, outcome.otherLatency])
  const inSeconds = (ms: number): string => (Number.isNaN(ms) ? 0 : ms / 1000).toFixed(2)
  const megabytes = outcome.bytesRead / MEGABYTE
  const rows: [name: string, figure: string, unit: string][] = [
    ['Transactions', String(hits), 'hits'],
    ['Availability', (outcome.sent === 0 ? 0 : (100 * hits) / outcome.sent).toFixed(2), '%'],
    ['Elapsed time', seconds.toFixed(2), 'secs'],
    ['Data transferred', megabytes.toFixed(2), 'MB'],
    ['Response time', inSeconds(times.mean), 'secs'],
    ['Transaction rate', (hits / seconds).toFixed(2), 'trans/sec'],
    ['Throughput', (megabytes / seconds).toFixed(2), 'MB/sec'],
    ['Concurrency', (times.count === 0 ? 0 : (times.mean * times.count) / 1000 / seconds).toFixed(2), ''],
    ['Successful transactions', String(below(400)), ''],
    ['Failed transactions', String(failed), ''],
    ['Longest transaction', inSeconds(times.max), ''],
    ['Shortest transaction', inSeconds(times.min), ''],
  ]
  return rows
    .map(([name, figure, unit]) => `${tabbed(`${name}:`)}${figure.padStart(12)} ${unit}`.trimEnd())
    .map(line => `${line}\n`)
    .join('')
}

/** Up to the figures, in column 24. */
const tabbed = (name: string): string => name + '\t'.repeat(Math.ceil((24 - name.length) / 8))
