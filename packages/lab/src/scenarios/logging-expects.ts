/** The expectations of the logging scenario. Pure. */
import { formatCount, formatMegabytes, formatPercent } from '../report/format.ts'
import {
  type CellResult,
  type LoggingMeasured,
  readerOf,
  scatter,
  shareKept,
  slowlyRead,
  type Stage,
} from './logging-measured.ts'
import type { Expectation, Judgement } from '../experiment/scenario.ts'

const named = (cell: CellResult): string => `${cell.logger} on ${readerOf(cell)}`

/** Share of the rate without logging; NaN if unknown. */
const kept = (measured: LoggingMeasured, cell: CellResult): number => shareKept(measured, cell) ?? Number.NaN

/** The rate with this logger, bare, into /dev/null: an upper bound for every other reader. */
function ofTheLogger(measured: LoggingMeasured, { logger, variant }: CellResult): string {
  const nowhere = measured.cells.find(
    cell => cell.logger === logger && !cell.protect && cell.stage === 'null' && cell.variant === variant,
  )
  return nowhere === undefined ? '' : ` (bare into /dev/null: ${formatPercent(kept(measured, nowhere))})`
}

/** The highest memory peak of the runs without logging; undefined without such runs. */
function peakWithoutLogging({ cells }: Pick<LoggingMeasured, 'cells'>): number | undefined {
  const peaks = cells.filter(cell => cell.logger === 'none').map(cell => cell.peakBytes ?? 0)
  return peaks.length === 0 ? undefined : Math.max(...peaks)
}

/**
 * A process that keeps unread output in memory peaks at least this much higher than one that does not log. Garbage
 * collection makes the peaks of two runs differ by a fraction of this.
 */
const KEPT_BYTES = 32 * 1024 * 1024

/** One sentence about all matching cells; undefined without any. */
function over(
  cells: readonly CellResult[],
  pass: (cell: CellResult) => boolean,
  figure: (cell: CellResult) => string,
): Judgement | undefined {
  if (cells.length === 0) return undefined
  return {
    pass: cells.every(pass),
    measured: cells.map(cell => `${named(cell)} ${figure(cell)}`).join('; '),
  }
}

const synchronous: readonly Stage[] = ['terminal', 'blocking']

export const loggingExpects: readonly Expectation<LoggingMeasured>[] = [
  {
    name: 'bare: with a reader at a tenth of the needed speed or less the rate falls at least 5x where stdout is synchronous',
    judge: measured => {
      const cells = slowlyRead(measured, false).filter(
        cell => cell.share! <= 0.1 && cell.logger === 'console' && synchronous.includes(cell.stage),
      )
      return over(
        cells,
        cell => kept(measured, cell) <= 0.2,
        cell => `${formatPercent(kept(measured, cell))} of no logging`,
      )
    },
  },
  {
    name: 'bare: where it is a pipe, unread output stays in memory (32 MB and more) and is lost at exit without a report',
    judge: measured => {
      const base = peakWithoutLogging(measured)
      if (base === undefined) return undefined
      const cells = slowlyRead(measured, false).filter(
        cell => cell.logger === 'console' && cell.stage === 'pipe' && cell.lines,
      )
      const more = ({ peakBytes }: CellResult): number => (peakBytes ?? Number.NaN) - base
      return over(
        cells,
        cell => cell.lines!.got + cell.lines!.told < cell.lines!.logged / 2 && more(cell) >= KEPT_BYTES,
        cell =>
          `${formatCount(cell.lines!.logged - cell.lines!.got)} of ${formatCount(cell.lines!.logged)} lines lost, ${formatMegabytes(Math.max(0, more(cell)))} more memory than without logging`,
      )
    },
  },
  {
    name: 'meltproof: at least 95 % of the rate without logging, whatever stdout is and however slowly it is read',
    judge: measured => {
      const judged = over(
        slowlyRead(measured, true),
        cell => kept(measured, cell) >= 0.95,
        cell => `${formatPercent(kept(measured, cell))}${ofTheLogger(measured, cell)}`,
      )
      const [least, most] = scatter(measured) ?? []
      if (judged === undefined || least === undefined) return judged
      const others = `; the runs without logging themselves are ${formatPercent(least)} to ${formatPercent(most!)} of their median`
      return { ...judged, measured: judged.measured + others }
    },
  },
  {
    name: 'meltproof: lines read + lines reported lost = lines logged, exactly',
    needsQuiet: false,
    judge: ({ cells }) => {
      const exact = cells.filter(cell => cell.protect && cell.stage !== 'null' && cell.variant !== 'cluster')
      return over(
        exact,
        ({ lines }) => lines !== undefined && lines.got + lines.told === lines.logged,
        ({ lines }) => (lines === undefined ? 'was killed' : `${lines.got} + ${lines.told} of ${lines.logged}`),
      )
    },
  },
  {
    name: 'meltproof: at most its buffer and 64 MB of uncollected garbage more memory than the run without logging',
    judge: measured => {
      const base = peakWithoutLogging(measured)
      if (base === undefined) return undefined
      const slow = slowlyRead(measured, true).filter(cell => cell.logger !== 'pino-worker')
      return over(
        slow,
        cell => (cell.peakBytes ?? Number.POSITIVE_INFINITY) <= base + measured.bufferBytes + 64 * 1024 * 1024,
        cell => `${formatMegabytes(Math.max(0, (cell.peakBytes ?? Number.NaN) - base))} more`,
      )
    },
  },
]
