/** What the logging scenario measures, and the cells it measures it in. Types and plain data. */

export type Logger = 'none' | 'console' | 'morgan' | 'pino' | 'pino-worker' | 'winston'
export type Stage = 'null' | 'file' | 'pipe' | 'blocking' | 'terminal'

/** One run of the service. */
export interface Cell {
  readonly logger: Logger
  readonly protect: boolean
  readonly stage: Stage
  /** Lines the reader takes a second, as a share of the rate without logging; null: as fast as they come. */
  readonly share: number | null
  /** `database`; or one of the published controls. */
  readonly variant: 'database' | 'no database' | 'cluster'
}

export interface CellResult extends Cell {
  readonly rate: number
  readonly completed: number
  readonly failed: number
  readonly bytes: number
  readonly elapsedMs: number
  readonly minMs: number
  readonly meanMs: number
  readonly maxMs: number
  /** 50, 66, 75, 80, 90, 95, 98, 99, 100 %, as ab prints them. */
  readonly percentiles: readonly (readonly [number, number])[]
  /** Undefined, as `lines`, when the service did not end by itself and was killed. */
  readonly peakBytes: number | undefined
  readonly lines: { readonly logged: number; readonly got: number; readonly told: number } | undefined
}

export interface LoggingMeasured {
  users: number
  /** Lines a second at a share of 1. */
  needed: number
  /** What meltproof/stdout may hold for one stream. */
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
 * The rate without logging that a cell is compared with: the mean of the last run without before it and the first one
 * after it, since a machine and a database drift.
 */
export function referenceFor({ cells }: LoggingMeasured, cell: CellResult): number | undefined {
  const isReference = (other: CellResult): boolean => other.logger === 'none' && other.variant === cell.variant
  const at = cells.indexOf(cell)
  const around = [cells.slice(0, at + 1).findLast(isReference), cells.slice(at).find(isReference)]
  const rates = around.flatMap(each => (each === undefined ? [] : [each.rate]))
  return rates.length === 0 ? undefined : rates.reduce((sum, rate) => sum + rate, 0) / rates.length
}

/** The rate without logging: the median of its runs. */
export function reference({ cells }: LoggingMeasured): number | undefined {
  const rates = cells.filter(cell => cell.logger === 'none' && cell.variant === 'database').map(cell => cell.rate)
  rates.sort((a, b) => a - b)
  return rates[Math.floor(rates.length / 2)]
}
