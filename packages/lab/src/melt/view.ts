/** The results of a melt run in words, tables and plots. Pure. */
import {
  formatChosen,
  formatCount,
  formatMegabytes,
  formatMs,
  formatMultiple,
  formatPercent,
  formatRate,
} from '../report/format.ts'
import { linesBy } from '../report/plots.ts'
import type { Axis, LinesPlot, ScenarioArm, Table, Unit, View } from '../report/result.ts'
import { keptOf, meltedBelow, NOTHING_MEASURED } from '../report/standing.ts'
import { type Columns, tableOf } from '../report/tables.ts'
import type { Capacity, MeltMeasured, Row, StepResult } from './measured.ts'
import { whyNoVerdict } from './no-verdict.ts'
import { judgedRecoveries, recoveryPlot, recoverySentence, recoveryTable } from './recovery.ts'
import { standings } from './standings.ts'
import { isUnderLoad } from './summary.ts'

type Arms = readonly Pick<ScenarioArm, 'name' | 'kind'>[]
type Kept = Pick<Row, 'arm' | 'multiple' | 'offered' | 'goodput' | 'ofCapacity'>

/** `more`: additional columns of the main table. */
export function meltView(measured: MeltMeasured, arms: Arms, more: Columns<Row> = []): View {
  const { capacity, rows, steps, setup, recovery } = measured
  if (capacity === null) return { ...NOTHING_MEASURED, finding: finding(rows, arms) }
  const tables = [capacityTable(capacity, setup.request, setup.connections)]
  if (rows.length === 0) return { ...NOTHING_MEASURED, tables }
  const judged = judgedRecoveries(measured)
  const verdicts = standings(rows, arms, judged)
  // A capacity that the scenario gives is not doubted.
  const best = capacity.searches === undefined ? 0 : Math.max(...rows.map(row => row.goodput))
  const judgedRows = rows.filter(({ unjudged }) => unjudged === undefined)
  return {
    standings: verdicts,
    unjudged:
      whyNoVerdict({ ...capacity, over: [capacity.before, capacity.after], best }) ??
      (verdicts.every(({ tone }) => tone === 'none') ? rows.find(({ unjudged }) => unjudged)?.unjudged : undefined),
    finding: finding(judgedRows, arms) + recoverySentence(judged, arms),
    tables: [figuresTable(measured, more), ...(recovery === undefined ? [] : [recoveryTable(recovery)]), ...tables],
    plots: [
      goodputPlot(rows, setup.sloMs, capacity),
      ...(recovery === undefined ? [] : [recoveryPlot(recovery)]),
      ...overLoad(measured),
      ...overTime(steps),
    ],
  }
}

export function finding(rows: readonly Kept[], arms: Arms): string {
  if (rows.length === 0) return NOTHING_MEASURED.finding
  const highest = (kind: ScenarioArm['kind']): Kept | undefined =>
    rows
      .filter(row => arms.some(arm => arm.kind === kind && arm.name === row.arm))
      .toSorted((a, b) => b.multiple - a.multiple)[0]
  const [bare, guarded] = [highest('bare'), highest('protected')]
  if (bare === undefined || guarded === undefined) {
    const only = (bare ?? guarded ?? rows.at(-1))!
    return `At ${formatMultiple(only.multiple)} its capacity, ${only.arm} keeps ${kept(only)}.`
  }
  // Bare and protected are compared at the same load.
  const multiple = Math.min(bare.multiple, guarded.multiple)
  const left = rows.find(row => row.arm === bare.arm && row.multiple === multiple) ?? bare
  const right = rows.find(row => row.arm === guarded.arm && row.multiple === multiple) ?? guarded
  const load = `At ${formatMultiple(multiple)} its capacity`
  if (keptOf(left) < meltedBelow && keptOf(right) >= meltedBelow) {
    return (
      `${load}, the bare app melts to ${formatRate(left.goodput)} good answers a second; ` +
      `protected, it keeps ${formatRate(right.goodput)}, ${ofPossible(right)}.`
    )
  }
  return `${load}, the bare app keeps ${kept(left)} and the protected one ${kept(right)}.`
}

const kept = (row: Kept): string => `${formatRate(row.goodput)} good answers a second (${ofPossible(row)})`

const ofPossible = (row: Kept): string =>
  `${formatPercent(keptOf(row))} of ${keptOf(row) > row.ofCapacity ? 'the load' : 'what it can do'}`

/** A latency in words; a range if the generator may have caused part of it. */
const admitted = ({ admittedMs, doubtedMs }: Pick<Row, 'admittedMs' | 'doubtedMs'>, figure: 'p50' | 'p99'): string => {
  const [most, own] = [admittedMs[figure], doubtedMs?.[figure] ?? 0]
  return most === null || own === 0 ? formatMs(most) : `${formatMs(Math.max(0, most - own))} to ${formatMs(most)}`
}

/** Columns by importance: a terminal shows as many as fit. */
export const loadColumns: Columns<Kept & Pick<Row, 'shed' | 'admittedMs' | 'doubtedMs'>> = [
  ['load', row => formatMultiple(row.multiple)],
  ['offered /s', row => formatRate(row.offered)],
  ['goodput /s', row => formatRate(row.goodput)],
  ['of capacity', row => formatPercent(row.ofCapacity)],
  ['admitted p99', row => admitted(row, 'p99')],
  ['shed /s', row => formatRate(row.shed)],
]

const columns: Columns<Row> = [
  ...loadColumns,
  ['errors', row => formatCount(row.errors)],
  ['late /s', row => formatRate(row.late + row.shedLate)],
  ['admitted p50', row => admitted(row, 'p50')],
  ['shed p99', row => formatMs(row.shedMs.p99)],
  ['longest', row => formatMs(row.longestAnswerMs)],
  ['peak rss', row => formatMegabytes(row.peakRssBytes) + (row.died ? ' died' : '')],
]

export function figuresTable({ rows, setup }: Pick<MeltMeasured, 'rows' | 'setup'>, more: Columns<Row> = []): Table {
  const { sloMs, durationMs, window, rounds } = setup
  const after = isUnderLoad(setup)
    ? ` The load went on until second ${durationMs / 1000}, so each answer in time was complete while it lasted.`
    : ''
  const doubted = rows.some(row => row.doubtedMs !== undefined)
    ? ' A latency from one figure to another is not certain: the load generator may have caused the difference.'
    : ''
  const words = {
    title: rounds === 1 ? 'Figures' : `Figures, medians of ${rounds} rounds`,
    note:
      `Goodput: 2xx/3xx within ${formatChosen(sloMs)}, counted from the scheduled send time, of the requests scheduled ` +
      `in seconds ${window.from} to ${window.to} after a cold start.${after} Errors: connection errors and timeouts of the whole step.${doubted}`,
  }
  return tableOf(words, rows, [armColumn(rows), ...columns, ...more])
}

/** The name of an arm appears in its first row. */
export const armColumn = <R extends Pick<Row, 'arm'>>(rows: readonly R[]): Columns<R>[number] => [
  '',
  row => (rows[rows.indexOf(row) - 1]?.arm === row.arm ? '' : row.arm),
]

function capacityTable({ rate, before, after, drift, users, latencyP50Ms }: Capacity, ...how: string[]): Table {
  return {
    title: 'Capacity: peak goodput of the bare app, closed loop',
    note: `${how.join('; ')}.`,
    columns: ['capacity', 'before', 'after', 'drift', 'users', 'answer p50'],
    rows: [
      {
        cells: [
          `${formatRate(rate)}/s`,
          `${formatRate(before)}/s`,
          after === null ? 'not measured' : `${formatRate(after)}/s`,
          drift === null ? '–' : `${drift >= 0 ? '+' : ''}${(drift * 100).toFixed(1)} %`,
          String(users),
          formatMs(latencyP50Ms),
        ],
      },
    ],
  }
}

/** A logarithmic axis, with a label for every measured step. */
function loadAxis(rows: readonly Pick<Row, 'multiple'>[]): Axis {
  const ticks = [...new Set(rows.map(row => row.multiple))].sort((a, b) => a - b)
  return { label: 'offered load, multiples of the capacity (log)', unit: 'multiple', scale: 'log', ticks }
}

export function linesOver<R extends Pick<Row, 'arm' | 'multiple'>>(
  rows: readonly R[],
  of: (row: R) => number | null,
): LinesPlot['series'] {
  return [...Map.groupBy(rows, row => row.arm)].map(([arm, mine]) => ({
    arm,
    points: mine.map(row => [row.multiple, of(row)] as const),
  }))
}

/** Explains points above the ideal, which would otherwise make readers distrust the rest. */
export const ABOVE_IDEAL = 'The ideal is measured apart: where a point lies above it, the app can do a little more.'

export function goodputPlot(
  rows: readonly Pick<Row, 'arm' | 'multiple' | 'goodput'>[],
  sloMs: number,
  capacity: Pick<Capacity, 'rate' | 'before'>,
): LinesPlot {
  const x = loadAxis(rows)
  const { rate, before } = capacity
  return {
    kind: 'lines',
    title: 'Goodput against offered load',
    note: `The dotted line is the ideal: all of the load up to the capacity, and the capacity, what the app can do, beyond. ${ABOVE_IDEAL}`,
    x,
    y: { label: `answers per second within ${formatChosen(sloMs)}`, unit: 'rate' },
    series: linesOver(rows, row => row.goodput),
    // Loads are multiples of the capacity found before the run.
    guide: {
      name: `ideal, ${formatRate(rate)}/s`,
      points: x.ticks!.map(load => [load, Math.min(load * before, rate)]),
    },
  }
}

function overLoad({ rows, setup: { sloMs } }: MeltMeasured): LinesPlot[] {
  const x = loadAxis(rows)
  const unserved = (row: Row): number => row.late + row.shedLate + row.failed + row.unsent + row.otherStatus
  return [
    {
      kind: 'lines',
      title: 'Latency of admitted requests',
      note: 'p99 of answers 2xx/3xx.',
      x,
      y: { label: 'latency, log scale', unit: 'ms', scale: 'log' },
      series: linesOver(rows, row => row.admittedMs.p99),
      levels: [{ value: sloMs, name: 'SLO' }],
    },
    {
      kind: 'lines',
      title: 'Errors',
      note: `Share of requests answered after ${formatChosen(sloMs)}, with an error, or not at all. A prompt refusal (503) is honest and not counted.`,
      x,
      y: { label: 'of the requests', unit: 'percent' },
      series: linesOver(rows, row => (row.offered === 0 ? 0 : (100 * unserved(row)) / row.offered)),
    },
  ]
}

/** Second by second from the cold start, first round only, with a heading for each load. */
function overTime(all: readonly StepResult[]): LinesPlot[] {
  const byLoad = Map.groupBy(
    all.filter(step => step.round === 1),
    step => step.multiple,
  )
  return [...byLoad].flatMap(([multiple, steps]) => {
    const plot = (
      title: string,
      unit: Unit,
      points: (step: StepResult) => readonly (readonly [number, number | null])[],
    ): LinesPlot => {
      const fold = `At ${formatMultiple(multiple)}, second by second from the cold start`
      const x = { label: 'when the request was due', unit: 's' } as const
      return linesBy({ title, fold }, x, { label: title, unit }, steps, points)
    }
    return [
      plot('Goodput', 'rate', step => step.seconds.map(each => [each.second, each.goodput])),
      plot('Latency p99', 'ms', step => step.seconds.map(each => [each.second, each.admittedP99Ms])),
      plot('Errors', 'rate', step =>
        step.seconds.map(each => [each.second, each.late + each.shedLate + each.otherStatus + each.failed]),
      ),
      plot('Memory (rss)', 'MB', step => step.memory.map(each => [each.atMs / 1000, each.rssBytes / 1e6])),
    ]
  })
}
