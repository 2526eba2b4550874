/** Tables, plots and printouts of the logging scenario. Pure. */
import { formatCount, formatMegabytes, formatMs, formatPercent, formatRate } from '../report/format.ts'
import type { Published } from '../experiment/scenario.ts'
import type { LinesPlot, Standing, Table, View } from '../report/result.ts'
import { toneOf } from '../report/standing.ts'
import { type Columns, tableOf } from '../report/tables.ts'
import {
  ARMS,
  armOf,
  type Cell,
  type CellResult,
  cellOf,
  type LoggingMeasured,
  readerOf,
  shareKept,
  slowlyRead,
} from './logging-measured.ts'

export function loggingView(measured: LoggingMeasured): View {
  const { cells } = measured
  const plain = cells.filter(cell => cell.variant === 'database')
  const controls = cells.filter(cell => cell.variant !== 'database')
  return {
    standings: standings(measured),
    finding: finding(measured),
    tables: [
      rates('Rate, memory and lines, by logger and reader', plain, measured),
      ...(controls.length > 0 ? [rates('The published controls', controls, measured)] : []),
      percentiles(plain),
    ],
    plots: [bySpeed(measured)],
  }
}

function finding(measured: LoggingMeasured): string {
  const bare = withShares(measured, slowlyRead(measured, false))
  const ours = withShares(measured, slowlyRead(measured, true))
  if (bare.length === 0 || ours.length === 0) return 'The run ended before it could compare.'
  const { cell, kept } = bare.reduce((a, b) => (a.kept < b.kept ? a : b))
  const least = Math.min(...ours.map(each => each.kept))
  return `One line of logging a request leaves ${formatPercent(kept)} of the rate without it: ${formatRate(cell.rate)}/s, on ${readerOf(cell)} of the needed speed. With meltproof/stdout ${formatPercent(least)} or more remains, whatever stdout is and however slowly it is read${inControls(measured)}.`
}

/** The cells whose share of the rate without logging is known, with that share. */
const withShares = (measured: LoggingMeasured, cells: readonly CellResult[]) =>
  cells.flatMap(cell => {
    const kept = shareKept(measured, cell)
    return kept === undefined ? [] : [{ cell, kept }]
  })

/** The lowest share kept in the published controls, as the end of a sentence; empty without controls. */
function inControls(measured: LoggingMeasured): string {
  const controls = measured.cells.filter(cell => cell.variant !== 'database' && cell.protect)
  const kept = withShares(measured, controls).map(each => each.kept)
  return kept.length === 0 ? '' : `; ${formatPercent(Math.min(...kept))} or more in the published controls`
}

export const loggingPublished: readonly Published<LoggingMeasured>[] = [
  {
    what: 'with the access logger',
    value: '8.85/s, 11.3 s a request (p50 11.2 s, p99 17.9 s, max 21.9 s)',
    ours: measured => told(cellOf(measured, { ...SLOWEST, protect: false }), readerOf),
  },
  {
    what: 'without it',
    value: '475.38/s, 210 ms a request (p50 153 ms, p99 656 ms)',
    ours: measured => told(cellOf(measured, { logger: 'none', variant: 'database' }), () => 'without logging'),
  },
  {
    what: 'one against the other',
    value: '53 times as slow',
    ours: measured => {
      const kept = shareOf(measured, { ...SLOWEST, protect: false })
      return kept === undefined
        ? undefined
        : `${formatCount(1 / kept)} times, with a reader that takes 2 %; the article does not say what was slow in its log`
    },
  },
  ...(['no database', 'cluster'] as const).map(
    (variant): Published<LoggingMeasured> => ({
      what: variant === 'cluster' ? 'control: a cluster on all cores' : 'control: a route without the database',
      value: variant === 'cluster' ? 'hardly a difference' : 'as slow',
      ours: measured => {
        const [kept, usual] = [variant, 'database' as const].map(each =>
          shareOf(measured, { ...TENTH, variant: each, protect: false }),
        )
        if (kept === undefined || usual === undefined) return undefined
        const who = variant === 'cluster' ? 'two processes on one core keep' : 'it keeps'
        return `${who} ${formatPercent(kept)} of their rate without logging where the usual one keeps ${formatPercent(usual)} (${readerOf(TENTH as Cell)})`
      },
    }),
  ),
]

const TENTH = { logger: 'console', stage: 'blocking', share: 0.1, variant: 'database' } as const
const SLOWEST = { ...TENTH, share: 0.02 } as const

function shareOf(measured: LoggingMeasured, what: Partial<Cell>): number | undefined {
  const cell = cellOf(measured, what)
  return cell && shareKept(measured, cell)
}

function told(cell: CellResult | undefined, where: (cell: CellResult) => string): string | undefined {
  if (cell === undefined) return undefined
  const at = (percent: number): string => formatMs(cell.percentiles.find(([each]) => each === percent)?.[1] ?? null)
  return `${formatRate(cell.rate)}/s (p50 ${at(50)}, p99 ${at(99)}, max ${at(100)}), ${where(cell)}`
}

function standings(measured: LoggingMeasured): readonly Standing[] {
  return [false, true].flatMap((protect): Standing[] => {
    const kept = withShares(measured, slowlyRead(measured, protect)).map(each => each.kept)
    if (kept.length === 0) return []
    const worst = Math.min(...kept)
    const tone = toneOf(worst)
    const says = { good: 'keeps its rate', fair: 'slows down', bad: 'waits for its log' }[tone]
    return [
      { arm: protect ? ARMS.meltproof : ARMS.bare, says, tone, figure: formatPercent(worst), of: 'of no logging' },
    ]
  })
}

function rates(title: string, cells: readonly CellResult[], measured: LoggingMeasured): Table {
  const note = `${measured.users} users who each wait for their answer. "Of no logging": every arm against the runs without logging before and after it. "Read at 10 %": the reader takes a tenth of the lines that the rate without logging would make (${formatCount(Math.round(measured.needed))}/s).`
  const known = <T>(value: T | undefined, format: (value: T) => string): string =>
    value === undefined ? '–' : format(value)
  const line =
    (of: (lines: NonNullable<CellResult['lines']>) => number) =>
    ({ lines, stage, variant }: CellResult): string =>
      known(stage === 'null' || variant === 'cluster' ? undefined : lines, found => formatCount(of(found)))
  return tableOfCells({ title, note }, cells, [
    ['logger', ({ logger, variant }) => (variant === 'database' ? logger : `${logger}, ${variant}`)],
    ['stdout', readerOf],
    ['arm', armOf],
    ['requests/s', ({ rate }) => formatRate(rate)],
    ['of no logging', cell => known(shareKept(measured, cell), formatPercent)],
    ['of a core', ({ cores }) => known(cores, formatPercent)],
    ['CPU a request', ({ cores, rate }) => known(cores, used => formatMs((1000 * used) / rate))],
    ['peak memory', ({ peakBytes }) => known(peakBytes, formatMegabytes)],
    ['logged', line(({ logged }) => logged)],
    ['read', line(({ got }) => got)],
    ['reported as lost', line(({ told }) => told)],
    [
      'vanished',
      cell => (cell.lines === undefined ? 'killed' : line(({ logged, got, told }) => logged - got - told)(cell)),
    ],
  ])
}

/** The columns read the cells themselves, because shareKept() finds the runs around a cell by its identity. */
function tableOfCells(
  words: Pick<Table, 'title' | 'note'>,
  cells: readonly CellResult[],
  columns: Columns<CellResult>,
): Table {
  const rows = cells.map(cell => ({ arm: armOf(cell), cell }))
  const read: Columns<(typeof rows)[number]> = columns.map(([name, of]) => [name, ({ cell }) => of(cell)])
  return tableOf(words, rows, read)
}

function percentiles(cells: readonly CellResult[]): Table {
  const shown: Columns<CellResult> = (cells[0]?.percentiles ?? []).map(([percent], at) => [
    `${percent} %`,
    cell => formatMs(cell.percentiles[at]![1]),
  ])
  return tableOfCells({ title: 'Percentage of the requests served within a certain time' }, cells, [
    ['logger and stdout', cell => `${cell.logger}, ${readerOf(cell)}`],
    ['arm', armOf],
    ...shown,
  ])
}

function bySpeed(measured: LoggingMeasured): LinesPlot {
  const cells = measured.cells.filter(
    ({ logger, stage, variant }) => logger === 'console' && stage === 'blocking' && variant === 'database',
  )
  const points = (protect: boolean) =>
    withShares(measured, cells)
      .filter(({ cell }) => cell.protect === protect && (cell.share ?? 0) > 0)
      .map(({ cell, kept }) => [cell.share! * measured.needed, kept * 100] as const)
      .sort(([a], [b]) => a - b)
  return {
    kind: 'lines',
    title: 'What remains of the rate without logging, by the speed of the reader',
    note: 'console.log, one line a request, on a pipe that is set to block. Every arm is compared with the runs without logging before and after it. That the published log had a slow reader is an inference; the post does not say.',
    x: { label: 'lines the reader takes', unit: 'rate', scale: 'log', ticks: points(false).map(([speed]) => speed) },
    y: { label: 'of the rate without logging', unit: 'percent' },
    series: [
      { arm: ARMS.bare, points: points(false) },
      { arm: ARMS.meltproof, points: points(true) },
    ],
  }
}
