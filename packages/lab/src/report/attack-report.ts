/** The figures of a load run as `meltlab attack` prints them. Pure. */
import { formatDuration } from '../durations.ts'
import { latenciesOf, totalOf } from '../load/added.ts'
import type { Histogram } from '../load/histogram.ts'
import { doubtedMs, FIGURES } from '../load/certify.ts'
import { KINDS, type LoadOutcome, type LoadPlan } from '../load/plan.ts'
import { loadSeconds } from '../load/schedule.ts'
import { failures, type Judged, judgedText, sign } from './attack-words.ts'
import { formatCount, formatBytes, formatMs, formatRate } from './format.ts'
import { targetsTable } from './targets-table.ts'
import { packed, wrapWords } from './wrap-words.ts'

const COLUMNS = 80

/** A text is broken at spaces, a list between its items. */
export type Row = readonly [name: string, content: string | readonly string[]]

export function rowsText(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(([name]) => name.length)) + 2
  const lines = rows.flatMap(([name, content]) => {
    const room = COLUMNS - width
    const texts = typeof content === 'string' ? wrapWords(content, room) : packed(content, '  ', room)
    return texts.map((text, at) => (at === 0 ? name : '').padEnd(width) + text)
  })
  return `${lines.map(line => line.trimEnd()).join('\n')}\n`
}

const perSecond = (value: number): string => `${formatRate(value)}/s`
const share = (part: number, whole: number): string => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(2)} %`)

const latencies = (histogram: Histogram): string[] => [
  `mean ${formatMs(histogram.mean)}`,
  ...[50, 90, 95, 99, 99.9].map(percent => `p${percent} ${formatMs(histogram.percentile(percent))}`),
  `max ${formatMs(histogram.max)}`,
]

/** Figures of the most frequent kind of result; those that the generator changed too much are not certain. */
const certainty = (outcome: LoadOutcome): string => {
  const measured = latenciesOf(outcome)
  const [most] = KINDS.toSorted((a, b) => measured[b].count - measured[a].count)
  const figures = outcome.certificate.intervals[most!]
  if (figures === undefined) return 'no figure'
  const words = FIGURES.filter(({ name }) => ['p50', 'p99', 'max'].includes(name)).map(figure => {
    const bounds = figures[figure.name]
    const isCertain = doubtedMs(figure, bounds, measured[most!].count) === 0
    return `${figure.title} ${isCertain ? formatMs(bounds[1]) : `not certain (${bounds.map(formatMs).join(' to ')})`}`
  })
  return words.join(', ')
}

/** `at`: the step, if there are several. `why` begins with the gravest doubt, and only --json has the others. */
export function certifiedRows(outcome: LoadOutcome, at = ''): Row[] {
  const { certified, why, certificate } = outcome
  const said = `${certified ? 'yes' : `no${at} (${certificate.code})`}: ${certainty(outcome)}`
  const [gravest, ...more] = why
  const others = more.length === 0 ? '' : ` (${more.length} more in --json, as \`why\`)`
  return [['Certified', said], ...(gravest === undefined ? [] : [['', gravest + others] as const])]
}

const journeyRows = ({ journey }: LoadPlan, { journeys }: LoadOutcome): Row[] => {
  if (journey === undefined || journeys === undefined) return []
  const { scheduled, completed, failedAt, notStarted, cut, missing, duration } = journeys
  const failed = failedAt.reduce((sum, times) => sum + times, 0)
  const ends = [
    `${formatCount(scheduled)} scheduled, ${formatCount(completed)} completed (${share(completed, scheduled)})`,
    `${formatCount(failed)} failed`,
    ...(notStarted === 0
      ? []
      : [`${formatCount(notStarted)} not started (${formatCount(journey.atOnce)} in progress)`]),
    ...(cut === 0 ? [] : [`${formatCount(cut)} cut short`]),
  ]
  const places = failedAt.flatMap((times, at) =>
    times === 0 ? [] : `step ${at + 1} (${journey.steps[at]!.name}): ${formatCount(times)}`,
  )
  return [
    ['Journeys', ends.join(', ')],
    ...(places.length === 0 ? [] : [['  failed at', places.join(', ')] as const]),
    ...Object.entries(missing).map(
      ([what, times]) => ['  not found', `${what}, in ${formatCount(times)} answers`] as const,
    ),
    ['  took', latencies(duration)],
  ]
}

export const attackReport = (
  plan: LoadPlan,
  outcome: LoadOutcome,
  judged: readonly Judged[] = [],
  colour = false,
): string => {
  const seconds = loadSeconds(plan, outcome)
  const ok = outcome.okLatency
  const answers = totalOf(outcome.answered)
  const several = plan.journey === undefined ? (plan.others?.length ?? 0) : 0
  const rows: Row[] = [
    ...(several === 0 ? [] : [['Targets', `${formatCount(several + 1)}, round robin`] as const]),
    ...journeyRows(plan, outcome),
    [
      'Requests',
      `${formatCount(outcome.scheduled)} scheduled, ${formatCount(outcome.sent)} sent${outcome.unsent > 0 ? `, ${formatCount(outcome.unsent)} never sent` : ''}`,
    ],
    ['Rate', `${perSecond(outcome.scheduled / seconds)} scheduled, ${perSecond(answers / seconds)} answered`],
    [
      'Goodput',
      `${perSecond(outcome.good / seconds)}, ${share(outcome.good, outcome.scheduled)} (within ${formatDuration(plan.sloMs)})`,
    ],
    ['Duration', `${formatDuration(Math.round(seconds * 1000))}, last answer after ${formatMs(outcome.elapsedMs)}`],
    ['Latencies', latencies(ok)],
  ]
  if (outcome.shedLatency.count > 0) rows.push(['  of 503', latencies(outcome.shedLatency)])
  if (outcome.otherLatency.count > 0) rows.push(['  of others', latencies(outcome.otherLatency)])
  rows.push(['Bytes read', formatBytes(outcome.bytesRead)])
  rows.push(['Success', `${share(ok.count, outcome.scheduled)} answered 2xx or 3xx`])
  const statuses = Object.entries(outcome.answered)
  rows.push([
    'Status codes',
    statuses.length === 0 ? 'none' : statuses.map(([status, times]) => `${status}: ${formatCount(times)}`),
  ])
  for (const failure of failures(outcome.failed)) rows.push(['Failed', failure])
  if (plan.arrival.kind === 'closed') {
    const busyMs = ok.count === 0 ? 0 : ok.mean * ok.count
    rows.push(
      ['Transactions', formatCount(ok.count)],
      ['Availability', share(ok.count, outcome.sent)],
      ['Transaction rate', perSecond(ok.count / seconds)],
      ['Concurrency', (busyMs / 1000 / seconds).toFixed(2)],
      ['Longest', formatMs(ok.max)],
      ['Shortest', formatMs(ok.min)],
    )
  }
  rows.push(['Send lag', latencies(outcome.sendLag)])
  if (outcome.incomplete)
    rows.push(['Incomplete', 'the run was stopped; the figures cover what was measured until then'])
  rows.push(...certifiedRows(outcome))
  for (const [at, each] of judged.entries()) {
    rows.push([at === 0 ? 'Expected' : '', `${sign(each.met, colour)} ${judgedText(each)}`])
  }
  const table = targetsTable(plan, outcome)
  return table === '' ? rowsText(rows) : `${rowsText(rows)}\n${table}`
}
