/**
 * A load run in vegeta's words (its text report, v12): the same lines, and what they count is what vegeta counts. Pure.
 *
 * Bytes are those of bodies: in, of complete answers, and out, of the requests that got one. Whatever got no complete answer
 * has the status 0, is an error and enters the latencies. What differs is the clock: ours starts when a request is due,
 * vegeta's when it is sent.
 */
import { STATUS_CODES } from 'node:http'
import { Histogram } from '../load/histogram.ts'
import type { LoadOutcome, LoadPlan } from '../load/plan.ts'
import { planMs } from '../load/schedule.ts'

export const vegetaReport = (plan: LoadPlan, outcome: LoadOutcome): string => {
  const { answered, okLatency, shedLatency, otherLatency, failedAfter, bodyBytes } = outcome
  const all = Histogram.merged([okLatency, shedLatency, otherLatency, failedAfter])
  const attackMs = Math.min(planMs(plan), outcome.elapsedMs)
  const waitMs = Math.max(0, outcome.elapsedMs - attackMs)
  const answers = Object.values(answered).reduce((sum, times) => sum + times, 0)
  const requests = outcome.scheduled
  const bytesOut = outcome.bodyBytesSent
  const codes: [string, number][] = Object.entries(answered)
  if (requests > answers) codes.unshift(['0', requests - answers])
  const errors = [
    ...Object.keys(answered)
      .filter(status => Number(status) < 200 || Number(status) >= 400)
      .map(status => `${status} ${STATUS_CODES[status] ?? ''}`.trim()),
    ...Object.keys(outcome.failed),
    ...(outcome.unsent > 0 ? ['never sent'] : []),
  ]
  const latencies = [all.min, all.mean, ...[50, 90, 95, 99].map(percent => all.percentile(percent)), all.max]
  const lines: [name: string, keys: string, values: readonly string[]][] = [
    [
      'Requests',
      'total, rate, throughput',
      [String(requests), each(requests, attackMs), each(okLatency.count, attackMs + waitMs)],
    ],
    ['Duration', 'total, attack, wait', [attackMs + waitMs, attackMs, waitMs].map(duration)],
    ['Latencies', 'min, mean, 50, 90, 95, 99, max', latencies.map(duration)],
    ['Bytes In', 'total, mean', [String(bodyBytes), (bodyBytes / Math.max(1, requests)).toFixed(2)]],
    ['Bytes Out', 'total, mean', [String(bytesOut), (bytesOut / Math.max(1, requests)).toFixed(2)]],
    ['Success', 'ratio', [`${((100 * okLatency.count) / Math.max(1, requests)).toFixed(2)}%`]],
  ]
  const head = (name: string, keys: string): string => `${name.padEnd(14)}${`[${keys}]`.padEnd(34)}`
  return [
    ...lines.map(([name, keys, values]) => head(name, keys) + values.join(', ')),
    head('Status Codes', 'code:count') + codes.map(([code, times]) => `${code}:${times}  `).join(''),
    'Error Set:',
    ...errors,
    '',
  ].join('\n')
}

const each = (count: number, ms: number): string => (ms === 0 ? 0 : (count / ms) * 1000).toFixed(2)

/** As Go writes durations: 315.12µs, 991.607ms, 1.5s, 1m30s. */
const duration = (ms: number): string => {
  if (!(ms > 0)) return '0s'
  const short = (value: number): number => Number(value.toFixed(3))
  if (ms < 1) return `${short(ms * 1000)}µs`
  if (ms < 1000) return `${short(ms)}ms`
  const minutes = Math.floor(ms / 60_000)
  return `${minutes > 0 ? `${minutes}m` : ''}${short((ms - minutes * 60_000) / 1000)}s`
}
