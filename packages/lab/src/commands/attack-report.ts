/** What `meltlab attack` prints in the end, for people and as JSON. Pure: an outcome in, text or plain data out. */
import { formatDuration } from '../durations.ts'
import type { Histogram } from '../load/histogram.ts'
import type { LoadOutcome, LoadPlan } from '../load/plan.ts'

export interface Figures {
  readonly mean: number | null
  readonly p50: number | null
  readonly p90: number | null
  readonly p95: number | null
  readonly p99: number | null
  readonly p999: number | null
  readonly max: number | null
}

/** Microseconds are the resolution; a figure nobody measured is null. */
const round = (ms: number): number | null => (Number.isNaN(ms) ? null : Math.round(ms * 1000) / 1000)

const figures = (histogram: Histogram): Figures => ({
  mean: round(histogram.mean),
  p50: round(histogram.percentile(50)),
  p90: round(histogram.percentile(90)),
  p95: round(histogram.percentile(95)),
  p99: round(histogram.percentile(99)),
  p999: round(histogram.percentile(99.9)),
  max: round(histogram.max),
})

export interface AttackDocument {
  readonly url: string
  readonly scheduled: number
  readonly sent: number
  readonly unsent: number
  readonly answered: LoadOutcome['answered']
  readonly failed: LoadOutcome['failed']
  readonly good: number
  readonly goodputPerSecond: number
  readonly sloMs: number
  readonly latencyMs: Figures
  readonly shedLatencyMs: Figures
  readonly otherLatencyMs: Figures
  readonly sendLagMs: Figures
  readonly elapsedMs: number
  readonly bytesRead: number
  readonly cpuPerRequestUs: number
  readonly incomplete: boolean
  readonly certified: boolean
  readonly why: readonly string[]
}

/** Seconds during which requests were scheduled: what rates are divided by. A stopped run has had fewer. */
const loadSeconds = (plan: LoadPlan, outcome: LoadOutcome): number => {
  const planned =
    plan.arrival.kind === 'closed'
      ? plan.arrival.durationMs
      : plan.arrival.schedule.phases.reduce(
          (sum, phase) => sum + (phase.kind === 'steps' ? phase.rates.length * phase.stepMs : phase.durationMs),
          0,
        )
  return Math.max(1, Math.min(planned, outcome.elapsedMs)) / 1000
}

export const attackDocument = (plan: LoadPlan, outcome: LoadOutcome): AttackDocument => ({
  url: plan.url,
  scheduled: outcome.scheduled,
  sent: outcome.sent,
  unsent: outcome.unsent,
  answered: outcome.answered,
  failed: outcome.failed,
  good: outcome.good,
  goodputPerSecond: Math.round((outcome.good / loadSeconds(plan, outcome)) * 100) / 100,
  sloMs: plan.sloMs,
  latencyMs: figures(outcome.okLatency),
  shedLatencyMs: figures(outcome.shedLatency),
  otherLatencyMs: figures(outcome.otherLatency),
  sendLagMs: figures(outcome.sendLag),
  elapsedMs: Math.round(outcome.elapsedMs),
  bytesRead: outcome.bytesRead,
  cpuPerRequestUs: Math.round(outcome.cpuPerRequestUs * 100) / 100,
  incomplete: outcome.incomplete,
  certified: outcome.certified,
  why: outcome.why,
})

const WORDS: Readonly<Record<string, string>> = {
  refused: 'the connection was refused',
  reset: 'the connection closed before the answer was complete',
  'connect-timeout': 'no connection in time',
  'response-timeout': 'no complete answer in time',
  malformed: 'the answer was not valid HTTP',
  unresolved: 'the name has no address',
  unreachable: 'the network has no way there',
  aborted: 'still under way when the run was stopped',
  other: 'see below',
}

const count = (value: number): string => value.toLocaleString('en-US')
const perSecond = (value: number): string =>
  `${value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 2 : 0 })}/s`

const shortMs = (ms: number): string => {
  if (Number.isNaN(ms)) return '-'
  if (ms >= 1000) return `${(ms / 1000).toFixed(ms >= 10_000 ? 1 : 2)}s`
  return `${ms >= 100 ? ms.toFixed(0) : Number(ms.toPrecision(3))}ms`
}

const bytes = (value: number): string => {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let at = 0
  let rest = value
  while (rest >= 1000 && at < units.length - 1) {
    rest /= 1000
    at++
  }
  return `${at === 0 ? rest : rest.toFixed(1)} ${units[at]}`
}

const percent = (part: number, whole: number): string => (whole === 0 ? '-' : `${((100 * part) / whole).toFixed(2)} %`)

const latencies = (histogram: Histogram): string =>
  [
    `mean ${shortMs(histogram.mean)}`,
    ...[50, 90, 95, 99, 99.9].map(share => `p${share} ${shortMs(histogram.percentile(share))}`),
    `max ${shortMs(histogram.max)}`,
  ].join('  ')

export const attackReport = (plan: LoadPlan, outcome: LoadOutcome): string => {
  const seconds = loadSeconds(plan, outcome)
  const ok = outcome.okLatency
  const answers = Object.values(outcome.answered).reduce((sum, times) => sum + times, 0)
  const rows: [string, string][] = [
    [
      'Requests',
      `${count(outcome.scheduled)} scheduled, ${count(outcome.sent)} sent${outcome.unsent > 0 ? `, ${count(outcome.unsent)} never sent` : ''}`,
    ],
    [
      'Rate',
      `${perSecond(outcome.scheduled / seconds)} scheduled, ${perSecond(answers / seconds)} answered, goodput ${perSecond(outcome.good / seconds)} (within ${formatDuration(plan.sloMs)})`,
    ],
    ['Duration', `${formatDuration(Math.round(seconds * 1000))}, last answer after ${shortMs(outcome.elapsedMs)}`],
    ['Latencies', latencies(ok)],
  ]
  if (outcome.shedLatency.count > 0) rows.push(['  of 503', latencies(outcome.shedLatency)])
  if (outcome.otherLatency.count > 0) rows.push(['  of others', latencies(outcome.otherLatency)])
  rows.push(['Bytes read', bytes(outcome.bytesRead)])
  rows.push(['Success', `${percent(ok.count, outcome.scheduled)} answered 2xx or 3xx`])
  const statuses = Object.entries(outcome.answered)
  rows.push([
    'Status codes',
    statuses.length === 0 ? 'none' : statuses.map(([status, times]) => `${status}: ${count(times)}`).join('  '),
  ])
  for (const [code, times] of Object.entries(outcome.failed)) {
    rows.push(['Failed', `${code}: ${count(times ?? 0)} (${WORDS[code] ?? code})`])
  }
  if (plan.arrival.kind === 'closed') {
    const busyMs = ok.count === 0 ? 0 : ok.mean * ok.count
    rows.push(
      ['Transactions', count(ok.count)],
      ['Availability', percent(ok.count, outcome.sent)],
      ['Transaction rate', perSecond(ok.count / seconds)],
      ['Concurrency', (busyMs / 1000 / seconds).toFixed(2)],
      ['Longest', shortMs(ok.max)],
      ['Shortest', shortMs(ok.min)],
    )
  }
  rows.push(['Send lag', latencies(outcome.sendLag)])
  if (outcome.incomplete) rows.push(['Incomplete', 'the run was stopped; the figures are of what had been measured'])
  rows.push([
    'Certified',
    outcome.certified ? 'yes: the generator was on time and not the bottleneck' : 'no: do not trust these figures',
  ])
  for (const reason of outcome.why) rows.push(['', reason])
  const width = Math.max(...rows.map(([name]) => name.length))
  return `${rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`).join('\n')}\n`
}
