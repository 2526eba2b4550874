/** A load run in figures, as `meltlab attack` prints it, for people and as JSON. Pure. */
import { formatDuration } from '../durations.ts'
import type { Histogram } from '../load/histogram.ts'
import type { LoadOutcome, LoadPlan } from '../load/plan.ts'
import { planMs } from '../load/schedule.ts'
import { formatCount, formatMegabytes, formatMs, formatRate } from './format.ts'
import { type LatencyFigures, latencyFigures } from './load-figures.ts'

const figures = (histogram: Histogram): Omit<LatencyFigures, 'min'> => {
  const { min: _, ...others } = latencyFigures(histogram)
  return others
}

/** Seconds during which requests were scheduled: what rates are divided by. A stopped run has had fewer. */
const loadSeconds = (plan: LoadPlan, outcome: LoadOutcome): number =>
  Math.max(1, Math.min(planMs(plan), outcome.elapsedMs)) / 1000

/** What `--json` prints. */
export type AttackDocument = Omit<LoadOutcome, `${string}Latency` | 'sendLag' | 'seconds' | 'acknowledged'> &
  Pick<LoadPlan, 'url' | 'sloMs'> & { readonly goodputPerSecond: number } & Readonly<
    Record<'latencyMs' | 'shedLatencyMs' | 'otherLatencyMs' | 'sendLagMs', Omit<LatencyFigures, 'min'>>
  >

export const attackDocument = (plan: LoadPlan, outcome: LoadOutcome): AttackDocument => {
  const { okLatency, shedLatency, otherLatency, sendLag, seconds: _, acknowledged: __, ...counts } = outcome
  return {
    url: plan.url,
    sloMs: plan.sloMs,
    ...counts,
    goodputPerSecond: Math.round((outcome.good / loadSeconds(plan, outcome)) * 100) / 100,
    elapsedMs: Math.round(outcome.elapsedMs),
    cpuPerRequestUs: Math.round(outcome.cpuPerRequestUs * 100) / 100,
    latencyMs: figures(okLatency),
    shedLatencyMs: figures(shedLatency),
    otherLatencyMs: figures(otherLatency),
    sendLagMs: figures(sendLag),
  }
}

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

const perSecond = (value: number): string => `${formatRate(value)}/s`
const share = (part: number, whole: number): string => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(2)} %`)
const ms = (value: number): string => formatMs(Number.isNaN(value) ? null : value)

const latencies = (histogram: Histogram): string =>
  [
    `mean ${ms(histogram.mean)}`,
    ...[50, 90, 95, 99, 99.9].map(percent => `p${percent} ${ms(histogram.percentile(percent))}`),
    `max ${ms(histogram.max)}`,
  ].join('  ')

export const attackReport = (plan: LoadPlan, outcome: LoadOutcome): string => {
  const seconds = loadSeconds(plan, outcome)
  const ok = outcome.okLatency
  const answers = Object.values(outcome.answered).reduce((sum, times) => sum + times, 0)
  const rows: [string, string][] = [
    [
      'Requests',
      `${formatCount(outcome.scheduled)} scheduled, ${formatCount(outcome.sent)} sent${outcome.unsent > 0 ? `, ${formatCount(outcome.unsent)} never sent` : ''}`,
    ],
    [
      'Rate',
      `${perSecond(outcome.scheduled / seconds)} scheduled, ${perSecond(answers / seconds)} answered, goodput ${perSecond(outcome.good / seconds)} (within ${formatDuration(plan.sloMs)})`,
    ],
    ['Duration', `${formatDuration(Math.round(seconds * 1000))}, last answer after ${ms(outcome.elapsedMs)}`],
    ['Latencies', latencies(ok)],
  ]
  if (outcome.shedLatency.count > 0) rows.push(['  of 503', latencies(outcome.shedLatency)])
  if (outcome.otherLatency.count > 0) rows.push(['  of others', latencies(outcome.otherLatency)])
  rows.push(['Bytes read', formatMegabytes(outcome.bytesRead)])
  rows.push(['Success', `${share(ok.count, outcome.scheduled)} answered 2xx or 3xx`])
  const statuses = Object.entries(outcome.answered)
  rows.push([
    'Status codes',
    statuses.length === 0 ? 'none' : statuses.map(([status, times]) => `${status}: ${formatCount(times)}`).join('  '),
  ])
  for (const [code, times] of Object.entries(outcome.failed)) {
    rows.push(['Failed', `${code}: ${formatCount(times ?? 0)} (${WORDS[code] ?? code})`])
  }
  if (plan.arrival.kind === 'closed') {
    const busyMs = ok.count === 0 ? 0 : ok.mean * ok.count
    rows.push(
      ['Transactions', formatCount(ok.count)],
      ['Availability', share(ok.count, outcome.sent)],
      ['Transaction rate', perSecond(ok.count / seconds)],
      ['Concurrency', (busyMs / 1000 / seconds).toFixed(2)],
      ['Longest', ms(ok.max)],
      ['Shortest', ms(ok.min)],
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
