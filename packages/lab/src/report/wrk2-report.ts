/**
 * A rate in wrk2's words: the same lines, and what they count is what wrk2 counts. Pure.
 *
 * Requests are complete answers of any status, all of them in the latencies, which start when a request is due, as ours do.
 * What differs: wrk2 forgets its first ten seconds (calibration), and here they are in.
 */
import { Histogram } from '../load/histogram.ts'
import type { LoadOutcome, LoadPlan } from '../load/plan.ts'
import { planMs } from '../load/schedule.ts'

const PERCENTILES = [50, 75, 90, 99, 99.9, 99.99, 99.999, 100]

export const wrk2Report = (plan: LoadPlan, outcome: LoadOutcome): string => {
  const { answered, failed, connections } = { ...outcome, connections: plan.connections }
  const seconds = Math.max(0.001, outcome.elapsedMs / 1000)
  const all = Histogram.merged([outcome.okLatency, outcome.shedLatency, outcome.otherLatency])
  const requests = all.count
  const bad = Object.entries(answered).reduce((sum, [status, times]) => sum + (Number(status) > 399 ? times : 0), 0)
  const connect = (failed.refused ?? 0) + (failed.unresolved ?? 0) + (failed.unreachable ?? 0)
  const read = (failed.reset ?? 0) + (failed.malformed ?? 0) + (failed.other ?? 0)
  const timeout = (failed['connect-timeout'] ?? 0) + (failed['response-timeout'] ?? 0)
  const sockets = connect + read + timeout
  const standing = connections.kind === 'fresh' ? 0 : connections.count
  return [
    `Running ${time(planMs(plan) * 1000, 0)} test @ ${plan.url}`,
    `  ${plan.threads} threads and ${standing} connections`,
    '  Thread Stats   Avg      Stdev     Max   +/- Stdev',
    statsLine('Latency', latencyStats(all), ms => time(ms * 1000, 2)),
    statsLine('Req/Sec', rateStats(plan, outcome), rate => scaled(rate, ['', 'k', 'M', 'G'], 1000)),
    '  Latency Distribution (HdrHistogram - Recorded Latency)',
    ...PERCENTILES.map(
      percent => `${percent.toFixed(3).padStart(7)}%${units(time(1000 * orZero(all.percentile(percent)), 2), 10)}`,
    ),
    '',
    '----------------------------------------------------------',
    `  ${requests} requests in ${time(outcome.elapsedMs * 1000, 2)}, ${bytes(outcome.bytesRead)}B read`,
    ...(sockets === 0 ? [] : [`  Socket errors: connect ${connect}, read ${read}, write 0, timeout ${timeout}`]),
    ...(bad === 0 ? [] : [`  Non-2xx or 3xx responses: ${bad}`]),
    `Requests/sec: ${(requests / seconds).toFixed(2).padStart(9)}`,
    `Transfer/sec: ${bytes(outcome.bytesRead / seconds).padStart(10)}B`,
    '',
  ]
    .map(line => line.trimEnd())
    .join('\n')
}

interface Stats {
  readonly mean: number
  readonly deviation: number
  readonly max: number
  /** Share (0..1) within one deviation of the mean. */
  readonly within: number
}

const latencyStats = (all: Histogram): Stats => {
  const mean = orZero(all.mean)
  const deviation = orZero(all.deviation)
  const low = mean - deviation
  const within = all.shareWithin(mean + deviation) - (low > 0 ? all.shareWithin(low) : 0)
  return { mean, deviation, max: orZero(all.max), within: orZero(within) }
}

/** Answers of each whole second, for each thread. */
const rateStats = (plan: LoadPlan, { seconds }: LoadOutcome): Stats => {
  const rates = seconds
    .slice(0, Math.floor(planMs(plan) / 1000))
    .map(({ answered }) => Object.values(answered).reduce((sum, times) => sum + times, 0) / plan.threads)
  if (rates.length === 0) return { mean: 0, deviation: 0, max: 0, within: 0 }
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length
  const deviation = Math.sqrt(rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0) / rates.length)
  const within = rates.filter(rate => Math.abs(rate - mean) <= deviation).length / rates.length
  return { mean, deviation, max: Math.max(...rates), within }
}

const statsLine = (name: string, { mean, deviation, max, within }: Stats, text: (value: number) => string): string =>
  `    ${name.padEnd(10)}${units(text(mean), 8)}${units(text(deviation), 10)}${units(text(max), 9)}${(100 * within).toFixed(2).padStart(8)}%`

const orZero = (value: number): number => (Number.isNaN(value) ? 0 : value)

/** Digits line up, whatever the length of the unit. */
const units = (text: string, width: number): string => {
  const room = 2 - /[a-zA-Z]{0,2}$/.exec(text)![0].length
  return text.padStart(width - room) + ' '.repeat(room)
}

/** The next unit begins at 0.85 of it. */
const scaled = (value: number, names: readonly string[], step: number, digits = 2): string => {
  let left = value
  let at = 0
  for (; at < names.length - 1 && left >= step * 0.85; at++) left /= step
  return left.toFixed(digits) + names[at]
}

const time = (us: number, digits: number): string =>
  us >= 1_000_000 ? scaled(us / 1e6, ['s', 'm', 'h'], 60, digits) : scaled(us, ['us', 'ms', 's'], 1000, digits)

const bytes = (count: number): string => scaled(count, ['', 'K', 'M', 'G'], 1024)
