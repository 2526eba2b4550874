/** The measurements of the logging scenario. A cell combines a logger, protection, a reader and a variant. Pure. */
import { median } from '../melt/summary.ts'

export type Logger = 'none' | 'console' | 'morgan' | 'pino' | 'pino-worker' | 'winston'
export type Stage = 'null' | 'file' | 'pipe' | 'blocking' | 'terminal'

export interface Cell {
  readonly logger: Logger
  readonly protect: boolean
  readonly stage: Stage
  /** Lines per second that the reader takes, as a share of the rate without logging; null: as fast as they arrive. */
  readonly share: number | null
  /** `database`, or one of the published controls. */
  readonly variant: 'database' | 'no database' | 'cluster'
}

export interface CellResult extends Cell {
  readonly rate: number
  readonly completed: number
  readonly failed: number
  /** CPU of the service during the measurement, in cores; undefined for a cluster. */
  readonly cores: number | undefined
  /** The percentiles of the published report: 50, 66, 75, 80, 90, 95, 98, 99, 100 %. */
  readonly percentiles: readonly (readonly [number, number])[]
  /** Undefined, like `lines`, if the service did not end by itself and was killed. */
  readonly peakBytes: number | undefined
  readonly lines: { readonly logged: number; readonly got: number; readonly told: number } | undefined
}

export interface LoggingMeasured {
  users: number
  /** Lines per second at a share of 1. */
  needed: number
  /** Buffer of meltproof/stdout for one stream. */
  bufferBytes: number
  readonly cells: CellResult[]
}

export const ARMS = {
  none: 'no logging',
  bare: 'bare',
  meltproof: 'meltproof',
} as const

export const armOf = ({ logger, protect }: Cell): string =>
  logger === 'none' ? ARMS.none : protect ? ARMS.meltproof : ARMS.bare

export const readerOf = ({ stage, share }: Cell): string => {
  if (stage === 'null') return '/dev/null'
  if (stage === 'file') return 'a file'
  const what = { pipe: 'a pipe', blocking: 'a pipe set to block', terminal: 'a terminal' }[stage]
  if (share === null) return `${what}, read at once`
  return share === 0 ? `${what}, not read` : `${what}, read at ${Math.round(share * 100)} %`
}

/**
 * The rate with logging as a share of the rate without logging. The latter is the mean of the nearest such runs before
 * and after, because a machine and a database drift. Undefined without such runs.
 */
export function shareKept({ cells }: LoggingMeasured, cell: CellResult): number | undefined {
  const isReference = (other: CellResult): boolean => other.logger === 'none' && other.variant === cell.variant
  const at = cells.indexOf(cell)
  if (at === -1) throw new Error('a cell that is none of the run has no neighbours')
  const around = [cells.slice(0, at + 1).findLast(isReference), cells.slice(at).find(isReference)]
  const rates = around.flatMap(each => (each === undefined ? [] : [each.rate]))
  return rates.length === 0 ? undefined : (cell.rate * rates.length) / rates.reduce((sum, rate) => sum + rate, 0)
}

/** Runs whose reader takes fewer lines than the service would write: the subject of the experiment. */
export const slowlyRead = ({ cells }: LoggingMeasured, protect: boolean): CellResult[] =>
  cells.filter(cell => cell.share !== null && cell.share < 1 && cell.protect === protect && cell.variant === 'database')

export const cellOf = ({ cells }: LoggingMeasured, what: Partial<Cell>): CellResult | undefined =>
  cells.find(cell => Object.entries(what).every(([name, value]) => cell[name as keyof Cell] === value))

/** How far the runs without logging lie from their median, as shares of it: smaller differences mean nothing. */
export function scatter({ cells }: LoggingMeasured): readonly [least: number, most: number] | undefined {
  const rates = cells.filter(cell => cell.logger === 'none' && cell.variant === 'database').map(cell => cell.rate)
  const middle = median(rates)
  return middle === null || rates.length < 3 ? undefined : [Math.min(...rates) / middle, Math.max(...rates) / middle]
}
