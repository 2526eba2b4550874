/** Tables, plots and printouts of the logging scenario. Pure. */
import { formatCount, formatMegabytes, formatMs, formatPercent, formatRate } from '../report/format.ts'
import type { LinesPlot, Table, View } from '../report/result.ts'
import { type Columns, tableOf } from '../report/tables.ts'
import {
  ARMS,
  armOf,
  type CellResult,
  type LoggingMeasured,
  readerOf,
  reference,
  shareKept,
} from './logging-measured.ts'

export function loggingView(measured: LoggingMeasured): View {
  const { cells } = measured
  const plain = cells.filter(cell => cell.variant === 'database')
  const controls = cells.filter(cell => cell.variant !== 'database')
  return {
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
  const base = reference(measured)
  const at = (protect: boolean): CellResult[] =>
    measured.cells.filter(
      cell =>
        cell.logger === 'console' && cell.share === 0.1 && cell.protect === protect && cell.variant === 'database',
    )
  const [bare, ours] = [at(false), at(true)]
  const kept = ours.flatMap(cell => shareKept(measured, cell) ?? [])
  if (base === undefined || bare.length === 0 || kept.length === 0) return 'The run ended before it could compare.'
  const worst = bare.reduce((a, b) => (a.rate < b.rate ? a : b))
  return `One console.log a request, on ${readerOf(worst).replace(', read at 10 %', ' read at a tenth of the needed speed')}, costs ${(base / worst.rate).toFixed(1)}x: ${formatRate(base)} requests/s become ${formatRate(worst.rate)}. With meltproof/stdout ${formatPercent(Math.min(...kept))} or more of the rate without logging remains with such a reader, whatever stdout is.`
}

function rates(title: string, cells: readonly CellResult[], measured: LoggingMeasured): Table {
  const note = `${measured.users} users who each wait for their answer. "Of no logging": bare is compared with the runs without before and after; meltproof, and bare into /dev/null, with itself, logging in every other 50 ms (median; elsewhere what bare has not written would reach into the turns without). What is missing at bare into /dev/null is the app's own work for its line. "Read at 10 %": the reader takes a tenth of the lines that the rate without logging would make (${formatCount(Math.round(measured.needed))}/s).`
  const known = <T>(value: T | undefined, format: (value: T) => string): string =>
    value === undefined ? '–' : format(value)
  const line =
    (of: (lines: NonNullable<CellResult['lines']>) => number) =>
    ({ lines, stage, variant }: CellResult): string =>
      known(stage === 'null' || variant === 'cluster' ? undefined : lines, found => formatCount(of(found)))
  return tableOf({ title, note }, withArms(cells), [
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
    ['told lost', line(({ told }) => told)],
    [
      'vanished',
      cell => (cell.lines === undefined ? 'killed' : line(({ logged, got, told }) => logged - got - told)(cell)),
    ],
  ])
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
    note: 'console.log, one line a request, on a pipe that is set to block. Meltproof is compared with itself, logging in every other 50 ms. That the published log had a slow reader is our inference; the post does not say.',
    x: { label: 'lines the reader takes', unit: 'rate', scale: 'log' },
    y: { label: 'of the rate without logging', unit: 'percent' },
    series: [
      { arm: ARMS.bare, points: points(false) },
      { arm: ARMS.meltproof, points: points(true) },
    ],
  }
}
