/** The view of the door scenario. Pure. */
import type { Published } from '../experiment/scenario.ts'
import { whyNoVerdict } from '../melt/no-verdict.ts'
import { formatCount, formatMs, formatPercent } from '../report/format.ts'
import { groupedBars, overTime } from '../report/plots.ts'
import type { View } from '../report/result.ts'
import { NOTHING_MEASURED, standingOf } from '../report/standing.ts'
import { tableOf } from '../report/tables.ts'
import { cellsOf, type DoorMeasured, type DoorRun } from './door-measured.ts'

const keptAt =
  (arm: string, load: number) =>
  (measured: DoorMeasured): string | undefined => {
    const cell = cellsOf(measured).find(each => each.arm === arm && each.load === load)
    return cell && `${formatPercent(cell.kept)}, p99 ${formatMs(cell.p99Ms)}`
  }

/** meltproof's own claims, measured on other machines. */
export const doorPublished: readonly Published<DoorMeasured>[] = [
  { what: 'one process alone at 100x', value: '32 % and 60 % of its capacity', ours: keptAt('direct', 100) },
]

export function doorView(measured: DoorMeasured): View {
  const cells = cellsOf(measured)
  const most = Math.max(0, ...cells.map(({ load }) => load))
  const loads = [...Map.groupBy(cells, ({ load }) => `${load}x its capacity`)]
  const top = cells.filter(({ load }) => load === most)
  if (top.length === 0) return NOTHING_MEASURED
  return {
    unjudged: whyNoVerdict({
      over: measured.runs.map(({ capacity }) => capacity),
      best: Math.max(...measured.runs.map(({ kept, capacity }) => kept * capacity)),
    }),
    standings: top.map(({ arm, kept }) => standingOf(arm, kept, `of capacity at ${most}x`)),
    finding: `At ${most}x its capacity one service keeps this much of it: ${top.map(({ arm, kept }) => `${arm} ${formatPercent(kept)}`).join(', ')}. p99 of the good answers: ${top.map(({ arm, p99Ms }) => `${formatMs(p99Ms)} (${arm})`).join(', ')}.`,
    plots: [
      groupedBars(
        { title: 'Good answers, as a share of the capacity' },
        { label: 'of its capacity', unit: 'percent' },
        loads.map(([label, those]) => [label, those.map(({ arm, kept }) => [arm, 100 * kept])]),
      ),
      groupedBars(
        { title: 'p99 of the good answers' },
        { label: 'latency', unit: 'ms' },
        loads.map(([label, those]) => [label, those.map(({ arm, p99Ms }) => [arm, p99Ms])]),
      ),
      ...seconds(measured.runs, most),
    ],
    tables: [
      tableOf(
        {
          title: 'What the service kept',
          note: 'Medians of the rounds; the longest answer, and requests without one, over all rounds. Each run starts cold.',
        },
        cells,
        [
          ['load', ({ load }) => `${load}x`],
          ['arm', ({ arm }) => arm],
          ['of capacity', ({ kept }) => formatPercent(kept)],
          ['p50', ({ p50Ms }) => formatMs(p50Ms)],
          ['p99', ({ p99Ms }) => formatMs(p99Ms)],
          ['longest answer', ({ longestMs }) => formatMs(longestMs)],
          ['no answer', ({ noAnswer }) => formatCount(noAnswer)],
        ],
      ),
    ],
  }
}

/** Plots of the last round. */
function seconds(runs: readonly DoorRun[], load: number): readonly View['plots'][number][] {
  const last = [...new Map(runs.filter(run => run.load === load).map(run => [run.arm, run])).values()]
  const told = last.filter(({ maxconn }) => maxconn.some(([, value]) => value > 0))
  return [
    overTime({ title: `Good answers at ${load}x, by second` }, { label: 'good', unit: 'rate' }, last, ({ good }) =>
      good.map((count, second) => [1000 * second, count]),
    ),
    overTime({ title: `HAProxy’s maxconn at ${load}x` }, { label: 'maxconn', unit: 'count' }, told, run => run.maxconn),
  ]
}
