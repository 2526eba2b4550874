/** Tables, plots and printouts of the logging scenario. Pure. */
import { formatCount, formatMegabytes, formatMs, formatPercent, formatRate } from '../report/format.ts'
import type { LinesPlot, Printout, Table, View } from '../report/result.ts'
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
    printouts: plain.filter(cell => cell.logger === 'console' && cell.share === 0.1).map(report),
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
  return {
    title,
    note: `${measured.users} users who each wait for their answer. "Of no logging": bare is compared with the runs without before and after; meltproof, and bare into /dev/null, with itself, logging in every other 50 ms (median; elsewhere what bare has not written would reach into the turns without). What is missing at bare into /dev/null is the app's own work for its line. "Read at 10 %": the reader takes a tenth of the lines that the rate without logging would make (${formatCount(Math.round(measured.needed))}/s).`,
    columns: [
      'logger',
      'stdout',
      'arm',
      'requests/s',
      'of no logging',
      'of a core',
      'CPU a request',
      'peak memory',
      'logged',
      'read',
      'told lost',
      'vanished',
    ],
    rows: cells.map(cell => {
      const kept = shareKept(measured, cell)
      const { lines } = cell
      return {
        arm: armOf(cell),
        cells: [
          cell.variant === 'database' ? cell.logger : `${cell.logger}, ${cell.variant}`,
          readerOf(cell),
          armOf(cell),
          formatRate(cell.rate),
          kept === undefined ? '–' : formatPercent(kept),
          cell.cores === undefined ? '–' : formatPercent(cell.cores),
          cell.cores === undefined ? '–' : formatMs((1000 * cell.cores) / cell.rate),
          cell.peakBytes === undefined ? '–' : formatMegabytes(cell.peakBytes),
          ...(lines === undefined || cell.stage === 'null' || cell.variant === 'cluster'
            ? ['–', '–', '–', lines === undefined ? 'killed' : '–']
            : [lines.logged, lines.got, lines.told, lines.logged - lines.got - lines.told].map(formatCount)),
        ],
      }
    }),
  }
}

function percentiles(cells: readonly CellResult[]): Table {
  const shown = cells[0]?.percentiles.map(([percent]) => `${percent} %`) ?? []
  return {
    title: 'Percentage of the requests served within a certain time',
    columns: ['logger and stdout', 'arm', ...shown],
    rows: cells.map(cell => ({
      arm: armOf(cell),
      cells: [`${cell.logger}, ${readerOf(cell)}`, armOf(cell), ...cell.percentiles.map(([, ms]) => formatMs(ms))],
    })),
  }
}

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

/** In the words and columns of the published report. */
function report(cell: CellResult): Printout {
  const row = (name: string, value: string): string => `${`${name}:`.padEnd(24)}${value}`
  return {
    title: `${cell.logger} on ${readerOf(cell)}, ${armOf(cell)}, as ab would print it`,
    text: [
      row('Time taken for tests', `${(cell.elapsedMs / 1000).toFixed(3)} seconds`),
      row('Complete requests', `${cell.completed}`),
      row('Failed requests', `${cell.failed}`),
      row('Total transferred', `${cell.bytes} bytes`),
      row('Requests per second', `${cell.rate.toFixed(2)} [#/sec] (mean)`),
      row('Time per request', `${cell.meanMs.toFixed(3)} [ms] (mean)`),
      row('Time per request', `${(1000 / cell.rate).toFixed(3)} [ms] (mean, across all concurrent requests)`),
      row('Total (ms)', `min ${cell.minMs.toFixed(0)} mean ${cell.meanMs.toFixed(0)} max ${cell.maxMs.toFixed(0)}`),
      'Percentage of the requests served within a certain time (ms)',
      ...cell.percentiles.map(([percent, ms]) => `${String(percent).padStart(5)}% ${ms.toFixed(0).padStart(6)}`),
    ].join('\n'),
  }
}
