/** Tables, plots and printouts of the logging scenario. Pure. */
import { formatCount, formatMegabytes, formatMs, formatPercent, formatRate } from '../report/format.ts'
import type { LinesPlot, Standing, Table, View } from '../report/result.ts'
import { toneOf } from '../report/standing.ts'
import { type Columns, tableOf } from '../report/tables.ts'
import {
  ARMS,
  armOf,
  type CellResult,
  type LoggingMeasured,
  readerOf,
  shareInTurns,
  shareKept,
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

/** console.log with a reader at a tenth of the needed speed, whatever stdout is. */
const slowlyRead = ({ cells }: LoggingMeasured, protect: boolean): CellResult[] =>
  cells.filter(
    cell => cell.logger === 'console' && cell.share === 0.1 && cell.protect === protect && cell.variant === 'database',
  )

function finding(measured: LoggingMeasured): string {
  const [bare, ours] = [false, true].map(protect =>
    slowlyRead(measured, protect).flatMap(cell => {
      const kept = shareKept(measured, cell)
      return kept === undefined ? [] : [{ cell, kept }]
    }),
  )
  if (bare!.length === 0 || ours!.length === 0) return 'The run ended before it could compare.'
  const { cell, kept } = bare!.reduce((a, b) => (a.kept < b.kept ? a : b))
  const where = readerOf(cell).replace(', read at 10 %', ' read at a tenth of the needed speed')
  const least = Math.min(...ours!.map(each => each.kept))
  return `One console.log a request, on ${where}, leaves ${formatPercent(kept)} of the rate without logging: ${formatRate(cell.rate)} requests/s. With meltproof/stdout ${formatPercent(least)} or more of it remains with such a reader, whatever stdout is.`
}

function standings(measured: LoggingMeasured): readonly Standing[] {
  return [false, true].flatMap((protect): Standing[] => {
    const kept = slowlyRead(measured, protect).flatMap(cell => shareKept(measured, cell) ?? [])
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
  const note = `${measured.users} users who each wait for their answer. "Of no logging": every arm against the runs without logging before and after it. "In turns": the same process logging in every other 50 ms, against itself (median; only where all lines of a turn are written when it ends). "Read at 10 %": the reader takes a tenth of the lines that the rate without logging would make (${formatCount(Math.round(measured.needed))}/s).`
  const known = <T>(value: T | undefined, format: (value: T) => string): string =>
    value === undefined ? '–' : format(value)
  const line =
    (of: (lines: NonNullable<CellResult['lines']>) => number) =>
    ({ lines, stage, variant }: CellResult): string =>
      known(stage === 'null' || variant === 'cluster' ? undefined : lines, found => formatCount(of(found)))
  const rows = cells.map(cell => ({ arm: armOf(cell), cell }))
  const columns: Columns<CellResult> = [
    ['logger', ({ logger, variant }) => (variant === 'database' ? logger : `${logger}, ${variant}`)],
    ['stdout', readerOf],
    ['arm', armOf],
    ['requests/s', ({ rate }) => formatRate(rate)],
    ['of no logging', cell => known(shareKept(measured, cell), formatPercent)],
    ['in turns', cell => known(shareInTurns(cell), formatPercent)],
    ['of a core', ({ cores }) => known(cores, formatPercent)],
    ['CPU a request', ({ cores, rate }) => known(cores, used => formatMs((1000 * used) / rate))],
    ['peak memory', ({ peakBytes }) => known(peakBytes, formatMegabytes)],
    ['logged', line(({ logged }) => logged)],
    ['read', line(({ got }) => got)],
    ['told lost', line(({ told }) => told)],
    [
      'vanished',
      cell => (cell.lines === undefined ? 'killed' : line(({ logged, got, told }) => logged - got - told)(cell)),
    ],
  ]
  return tableOf(
    { title, note },
    rows,
    columns.map(([name, of]) => [name, ({ cell }) => of(cell)] as const),
  )
}

function percentiles(cells: readonly CellResult[]): Table {
  const shown: Columns<CellResult> = (cells[0]?.percentiles ?? []).map(([percent], at) => [
    `${percent} %`,
    cell => formatMs(cell.percentiles[at]![1]),
  ])
  return tableOf({ title: 'Percentage of the requests served within a certain time' }, withArms(cells), [
    ['logger and stdout', cell => `${cell.logger}, ${readerOf(cell)}`],
    ['arm', armOf],
    ...shown,
  ])
}

const withArms = (cells: readonly CellResult[]) => cells.map(cell => ({ ...cell, arm: armOf(cell) }))

/** How much of the rate remains depends on how fast the log is read. */
function bySpeed(measured: LoggingMeasured): LinesPlot {
  const points = (protect: boolean): [number, number][] =>
    measured.cells
      .filter(
        cell =>
          cell.logger === 'console' &&
          cell.stage === 'blocking' &&
          cell.variant === 'database' &&
          cell.protect === protect &&
          cell.share !== null &&
          cell.share > 0,
      )
      .flatMap((cell): [number, number][] => {
        const kept = shareKept(measured, cell)
        return kept === undefined ? [] : [[cell.share! * measured.needed, kept * 100]]
      })
      .sort(([a], [b]) => a - b)
  return {
    kind: 'lines',
    title: 'What remains of the rate without logging, by the speed of the reader',
    note: 'console.log, one line a request, on a pipe that is set to block. Every arm is compared with the runs without logging before and after it. That the published log had a slow reader is our inference; the post does not say.',
    x: { label: 'lines the reader takes', unit: 'rate', scale: 'log', ticks: points(false).map(([speed]) => speed) },
    y: { label: 'of the rate without logging', unit: 'percent' },
    series: [
      { arm: ARMS.bare, points: points(false) },
      { arm: ARMS.meltproof, points: points(true) },
    ],
  }
}
