/** What was seen of a watched command, and how it is shown: a line, a table, plots. Pure. */
import { formatMegabytes, formatMs, formatPercent, formatRate } from '../report/format.ts'
import { numberStats } from '../report/number-stats.ts'
import { overTime } from '../report/plots.ts'
import type { LinesPlot, ScenarioArm, Table, View } from '../report/result.ts'
import type { Inside } from './readings.ts'

export interface Sample {
  readonly atMs: number
  readonly rssBytes: number
  /** Cores' worth of CPU over the interval. */
  readonly cpu: number
  /** Null while no process of the command has told anything. */
  readonly inside: Inside | null
  /** How long one GET of `--url` took, ms; null when it failed; undefined when none was asked for. */
  readonly probeMs?: number | null
}

/** Each figure has a colour of its own. */
export const WATCH_ARMS: readonly ScenarioArm[] = [
  { name: 'rss', kind: 'bare', what: 'memory of all processes of the command, from outside' },
  { name: 'heap', kind: 'protected', what: 'live and dead objects in the JavaScript heaps, from inside' },
  { name: 'cpu', kind: 'bare', what: "cores' worth of CPU, from outside" },
  { name: 'loop busy', kind: 'protected', what: 'event-loop utilisation of the busiest loop' },
  { name: 'loop delay', kind: 'protected', what: 'p99 of the slowest loop, every quarter of a second' },
  { name: 'probe', kind: 'also', what: 'one GET of --url, a new connection each time' },
  { name: 'in service', kind: 'protected', what: 'requests with a permit' },
  { name: 'shed', kind: 'also', what: 'requests turned away a second' },
]

export function sampleLine(sample: Sample): string {
  const { atMs, rssBytes, cpu, inside, probeMs } = sample
  const parts = [`${(atMs / 1000).toFixed(0)} s`, `rss ${formatMegabytes(rssBytes)}`, `cpu ${formatPercent(cpu)}`]
  if (inside !== null) {
    parts.push(
      `heap ${formatMegabytes(inside.heapBytes)}`,
      `loop ${formatPercent(inside.utilization)} busy, ${formatMs(inside.loopDelayP99Ms)} late`,
    )
    const { guard } = inside
    if (guard !== undefined) {
      parts.push(
        `in service ${guard.inflight} of ${guard.limit}`,
        `waiting ${guard.queued}`,
        `shed ${formatRate(guard.shedPerS)}/s`,
      )
    }
  }
  if (probeMs !== undefined) parts.push(probeMs === null ? 'probe failed' : `probe ${formatMs(probeMs)}`)
  return parts.join('  ')
}

interface Column {
  readonly name: string
  readonly read: (sample: Sample) => number | null | undefined
  readonly format: (value: number) => string
}

const COLUMNS: readonly Column[] = [
  { name: 'rss', read: sample => sample.rssBytes, format: formatMegabytes },
  { name: 'heap', read: sample => sample.inside?.heapBytes, format: formatMegabytes },
  { name: 'cpu', read: sample => sample.cpu, format: formatPercent },
  { name: 'loop busy', read: sample => sample.inside?.utilization, format: formatPercent },
  { name: 'loop delay', read: sample => sample.inside?.loopDelayP99Ms, format: formatMs },
  { name: 'probe', read: sample => sample.probeMs, format: formatMs },
  { name: 'in service', read: sample => sample.inside?.guard?.inflight, format: value => value.toFixed(1) },
  { name: 'shed', read: sample => sample.inside?.guard?.shedPerS, format: value => `${formatRate(value)}/s` },
]

export function watchView(samples: readonly Sample[]): View {
  const values = (name: string): number[] => {
    const { read } = COLUMNS.find(column => column.name === name)!
    return samples.map(read).filter(value => typeof value === 'number')
  }
  const there = COLUMNS.filter(({ name }) => values(name).length > 0)
  const rss = values('rss')
  return {
    finding:
      samples.length === 0
        ? 'The command ended before the first sample.'
        : `${samples.length} samples in ${(samples.at(-1)!.atMs / 1000).toFixed(0)} s: rss ${formatMegabytes(Math.min(...rss))} to ${formatMegabytes(Math.max(...rss))}.`,
    tables: samples.length === 0 ? [] : [table(there, values)],
    plots: [
      plot(samples, 'Memory', 'MB', ['rss', 'heap'], 1 / 1e6),
      plot(samples, 'CPU and loop', 'percent', ['cpu', 'loop busy'], 100),
      plot(samples, 'How late', 'ms', ['loop delay', 'probe']),
      plot(samples, 'At the door', 'count', ['in service', 'shed']),
    ].filter(each => each.series.length > 0),
  }
}

function table(there: readonly Column[], values: (name: string) => number[]): Table {
  return {
    title: 'Over the whole time',
    columns: ['', 'least', 'mean', 'most', 'last'],
    rows: there.map(({ name, format }) => {
      const { min, mean, max, last } = numberStats(values(name))!
      return { arm: name, cells: [name, ...[min, mean, max, last].map(format)] }
    }),
  }
}

function plot(
  samples: readonly Sample[],
  title: string,
  unit: 'MB' | 'percent' | 'ms' | 'count',
  names: readonly string[],
  scale = 1,
): LinesPlot {
  const columns = COLUMNS.filter(
    ({ name, read }) => names.includes(name) && samples.some(sample => typeof read(sample) === 'number'),
  )
  const runs = columns.map(({ name, read }) => ({ arm: name, read }))
  return overTime({ title }, { label: title, unit }, runs, ({ read }) =>
    samples.map(sample => {
      const value = read(sample)
      return [sample.atMs, typeof value === 'number' ? value * scale : null]
    }),
  )
}
