/** Latency by percentile, on HdrHistogram's axis of 1 / (1 - quantile), and as a table. Pure. */
import type { Histogram } from '../load/histogram.ts'
import { type AttackRun, offered } from './attack-words.ts'
import { formatCount, formatMs } from './format.ts'
import type { LinesPlot, ScenarioArm, ScenarioResult } from './result.ts'

type Distribution = Pick<ScenarioArm, 'name' | 'what'> & { readonly histogram: Histogram }

/** More lines could not be distinguished. */
const MOST_LINES = 5
const POINTS_PER_DECADE = 8
/** One answer in this many lies beyond the percentile: p50 to p99.99. */
const ODDS = [2, 4, 10, 20, 100, 1000, 10_000]
const percentOf = (odds: number): number => 100 - 100 / odds

/** For one run, a line per kind of answer; for several, a line per rate. Empty without answers. */
export function percentilesOf(runs: readonly AttackRun[]): Pick<ScenarioResult, 'arms' | 'plots' | 'tables'> {
  const all = (runs.length === 1 ? kindsOf(runs[0]!) : runs.map(rateOf)).filter(({ histogram }) => histogram.count > 0)
  if (all.length === 0) return { arms: [], plots: [], tables: [] }
  const evenly = (line: number): number => Math.round((line * (all.length - 1)) / (MOST_LINES - 1))
  const drawn = all.length <= MOST_LINES ? all : Array.from({ length: MOST_LINES }, (_, line) => all[evenly(line)]!)
  const title = 'Latency by percentile'
  const plot: LinesPlot = {
    kind: 'lines',
    title,
    x: { label: 'percentile', unit: 'percentile', scale: 'log' },
    y: { label: 'latency', unit: 'ms', scale: 'log' },
    series: drawn.map(({ name, histogram }) => ({ arm: name, points: pointsOf(histogram) })),
  }
  const columns = ['', ...ODDS.map(odds => `p${percentOf(odds)}`), 'max', 'answers']
  const rows = all.map(({ name, histogram }) => ({
    cells: [
      name,
      // A percentile with less than one answer beyond it is only the maximum.
      ...ODDS.map(odds => formatMs(histogram.count < odds ? null : histogram.percentile(percentOf(odds)))),
      formatMs(histogram.max),
      formatCount(histogram.count),
    ],
  }))
  return {
    arms: drawn.map(({ name, what }, at) => ({ name, what, kind: (['protected', 'bare'] as const)[at] ?? 'also' })),
    plots: [plot],
    tables: [{ title, columns, rows }],
  }
}

const kindsOf = ({ outcome }: AttackRun): Distribution[] => [
  { name: '2xx and 3xx', what: 'latency of answers 2xx and 3xx', histogram: outcome.okLatency },
  { name: '503', what: 'latency of answers 503', histogram: outcome.shedLatency },
  { name: 'other answers', what: 'latency of all other answers', histogram: outcome.otherLatency },
]

const rateOf = ({ plan, outcome }: AttackRun): Distribution => ({
  name: `at ${offered(plan)}`,
  what: `latency of answers 2xx and 3xx at ${offered(plan)}`,
  histogram: outcome.okLatency,
})

function pointsOf(histogram: Histogram): (readonly [number, number])[] {
  const steps = Math.ceil(Math.log10(histogram.count) * POINTS_PER_DECADE)
  const odds = Array.from({ length: steps }, (_, at) => 10 ** (at / POINTS_PER_DECADE))
  const points = [...odds, histogram.count].map(each => [each, histogram.percentile(percentOf(each))] as const)
  return [...points, [histogram.count, histogram.max]]
}
