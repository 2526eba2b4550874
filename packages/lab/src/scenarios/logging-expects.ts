/** The expectations of the logging scenario. Pure. */
import { expectation } from '../experiment/expectation.ts'
import type { Expectation } from '../experiment/scenario.ts'
import { formatCount, formatMegabytes, formatPercent } from '../report/format.ts'
import { type CellResult, type LoggingMeasured, readerOf, scatter, shareKept, slowlyRead } from './logging-measured.ts'

/** Share of the rate without logging; NaN if unknown. */
const kept = (measured: LoggingMeasured, cell: CellResult): number => shareKept(measured, cell) ?? Number.NaN

/** The rate with this logger, bare, into /dev/null: an upper bound for every other reader. */
function ofTheLogger(measured: LoggingMeasured, { logger, variant }: CellResult): string {
  const nowhere = measured.cells.find(
    cell => cell.logger === logger && !cell.protect && cell.stage === 'null' && cell.variant === variant,
  )
  return nowhere === undefined ? '' : ` (bare into /dev/null: ${formatPercent(kept(measured, nowhere))})`
}

/** How far the memory peak of a cell is above that of every run without logging; NaN if it is unknown. */
function extraBytes({ cells }: LoggingMeasured, { peakBytes = Number.NaN }: CellResult): number {
  return peakBytes - Math.max(...cells.filter(cell => cell.logger === 'none').map(cell => cell.peakBytes ?? 0))
}

/**
 * A process that keeps unread output in memory peaks at least this much higher than one that does not log. Garbage
 * collection makes the peaks of two runs differ by a fraction of this.
 */
const KEPT_BYTES = 32 * 1024 * 1024

/** One sentence about all cells. */
const over = (
  cells: readonly CellResult[],
  pass: (cell: CellResult) => boolean,
  figure: (cell: CellResult) => string,
): readonly [pass: boolean, words: string] => [
  cells.every(pass),
  cells.map(cell => `${cell.logger} on ${readerOf(cell)} ${figure(cell)}`).join('; '),
]

export const loggingExpects: readonly Expectation<LoggingMeasured>[] = [
  expectation(
    'bare: with a reader at a tenth of the needed speed or less the rate falls at least 5x where stdout is synchronous',
    measured =>
      slowlyRead(measured, false).filter(
        cell => cell.share! <= 0.1 && cell.logger === 'console' && ['terminal', 'blocking'].includes(cell.stage),
      ),
    (cells, measured) =>
      over(
        cells,
        cell => kept(measured, cell) <= 0.2,
        cell => `${formatPercent(kept(measured, cell))} of no logging`,
      ),
  ),
  expectation(
    'bare: where it is a pipe, unread output stays in memory (32 MB and more) and is lost at exit without a report',
    measured =>
      slowlyRead(measured, false).filter(cell => cell.logger === 'console' && cell.stage === 'pipe' && cell.lines),
    (cells, measured) =>
      over(
        cells,
        cell => cell.lines!.got + cell.lines!.told < cell.lines!.logged / 2 && extraBytes(measured, cell) >= KEPT_BYTES,
        cell =>
          `${formatCount(cell.lines!.logged - cell.lines!.got)} of ${formatCount(cell.lines!.logged)} lines lost, ${formatMegabytes(Math.max(0, extraBytes(measured, cell)))} more memory than without logging`,
      ),
  ),
  expectation(
    'meltproof: at least 95 % of the rate without logging, whatever stdout is and however slowly it is read',
    measured => slowlyRead(measured, true),
    (cells, measured) => {
      const [pass, words] = over(
        cells,
        cell => kept(measured, cell) >= 0.95,
        cell => `${formatPercent(kept(measured, cell))}${ofTheLogger(measured, cell)}`,
      )
      const [least, most] = scatter(measured) ?? []
      if (least === undefined) return [pass, words]
      const others = `the runs without logging themselves are ${formatPercent(least)} to ${formatPercent(most!)} of their median`
      return [pass, `${words}; ${others}`]
    },
  ),
  expectation(
    'meltproof: lines read + lines reported lost = lines logged, exactly',
    ({ cells }) => cells.filter(cell => cell.protect && cell.stage !== 'null' && cell.variant !== 'cluster'),
    cells =>
      over(
        cells,
        ({ lines }) => lines !== undefined && lines.got + lines.told === lines.logged,
        ({ lines }) => (lines === undefined ? 'was killed' : `${lines.got} + ${lines.told} of ${lines.logged}`),
      ),
    { needsQuiet: false },
  ),
  expectation(
    'meltproof: at most its buffer and 64 MB of uncollected garbage more memory than the run without logging',
    measured => slowlyRead(measured, true).filter(cell => cell.logger !== 'pino-worker'),
    (cells, measured) =>
      over(
        cells,
        cell => extraBytes(measured, cell) <= measured.bufferBytes + 64 * 1024 * 1024,
        cell => `${formatMegabytes(Math.max(0, extraBytes(measured, cell)))} more`,
      ),
  ),
]
