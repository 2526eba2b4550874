/** The figures of bench/memory-cgroup.ts, its bars, and the table of docs/memory.md. Pure. */
import { addUp } from '../../packages/lab/src/load/added.ts'
import { formatCount, formatPercent } from '../../packages/lab/src/report/format.ts'
import { markdownTable } from '../../packages/lab/src/report/markdown-table.ts'
import type { Conditions } from './conditions.ts'
import type { Kind, LoadCounts } from './memory-load.ts'
import { madeBy, measuredOn, NOT_MEASURED } from './page-table.ts'

/** Runs of each row, over all runs of the script. */
export const ROUNDS = 20
export const ARMS = ['bare', 'protected'] as const
/** Multiples of the load that fills the memory. */
export const TIMES = { '10x': 10, '1x': 1, half: 0.5 } as const
export type LoadName = keyof typeof TIMES

export interface MemoryRun {
  readonly kind: Kind
  readonly load: LoadName
  readonly arm: (typeof ARMS)[number]
  /** The signal or exit code that ended the server during the load; undefined if it survived. */
  readonly died: string | undefined
  readonly serves: boolean
  readonly peakMb: number
  readonly requests: LoadCounts
  /** Small requests during the load. */
  readonly pings: LoadCounts
}

/** Sums over the runs of a load, a kind and an arm. `peakMb` is the highest peak. */
export interface MemoryRow extends Pick<MemoryRun, 'kind' | 'load' | 'arm'> {
  readonly runs: number
  readonly killed: number
  /** Runs that were not killed and answered every small request afterwards. */
  readonly serves: number
  readonly peakMb: number
  readonly requests: LoadCounts
  readonly pings: LoadCounts
}

export interface MemoryFigures extends Conditions {
  readonly limitBytes: number
  readonly seconds: number
  readonly rows: readonly MemoryRow[]
  readonly missed: readonly string[]
}

const isOf =
  ({ kind, load, arm }: Pick<MemoryRun, 'kind' | 'load' | 'arm'>) =>
  (row: MemoryRow): boolean =>
    row.kind === kind && row.load === load && row.arm === arm

export const runsOf = (rows: readonly MemoryRow[], of: Pick<MemoryRun, 'kind' | 'load' | 'arm'>): number =>
  rows.find(isOf(of))?.runs ?? 0

/** The rows with one more run. */
export function withRun(rows: readonly MemoryRow[], run: MemoryRun): MemoryRow[] {
  const { kind, load, arm, died, serves, peakMb, requests, pings } = run
  const before = rows.find(isOf(run))
  const row: MemoryRow = {
    ...{ load, kind, arm, runs: (before?.runs ?? 0) + 1 },
    killed: (before?.killed ?? 0) + Number(died !== undefined),
    serves: (before?.serves ?? 0) + Number(died === undefined && serves),
    peakMb: Math.max(before?.peakMb ?? 0, peakMb),
    requests: plus(before?.requests, requests),
    pings: plus(before?.pings, pings),
  }
  return before === undefined ? [...rows, row] : rows.map(each => (each === before ? row : each))
}

const plus = (a: LoadCounts | undefined, b: LoadCounts): LoadCounts =>
  addUp([{ ...a }, { ...b }]) as unknown as LoadCounts

const shedOf = ({ requests, pings }: MemoryRow): number => requests.shed + pings.shed

export function missedBars(rows: readonly MemoryRow[]): string[] {
  return rows.flatMap(row => {
    const { kind, load, arm, runs, killed, serves } = row
    const name = `${kind} at ${load}, ${arm}`
    if (arm === 'bare') {
      return load !== '10x' || 2 * killed > runs ? [] : [`${name}: only ${killed} of ${runs} runs were killed`]
    }
    return [
      ...(killed === 0 ? [] : [`${name}: ${killed} of ${runs} runs were killed`]),
      ...(serves + killed === runs ? [] : [`${name}: ${runs - serves - killed} of ${runs} runs did not go on serving`]),
      ...(load !== 'half' || shedOf(row) === 0 ? [] : [`${name}: ${shedOf(row)} requests were shed`]),
    ]
  })
}

export function memoryTable(figures: MemoryFigures | undefined): string {
  const columns = [madeBy('memory-cgroup'), 'bare', 'with meltproof']
  if (figures === undefined) return markdownTable(columns, [columns.map(() => NOT_MEASURED)])
  const { rows, limitBytes } = figures
  const said = (row: MemoryRow | undefined): string => (row === undefined ? NOT_MEASURED : inWords(row))
  const loads = Object.keys(TIMES) as LoadName[]
  const lines = loads.flatMap(load =>
    [...new Set(rows.filter(row => row.load === load).map(({ kind }) => kind))].map(kind => [
      `${kind}, ${load === 'half' ? 'half of what fits' : `${load} of what fits`}`,
      ...ARMS.map(arm => said(rows.find(isOf({ kind, load, arm })))),
    ]),
  )
  const where = `${limitBytes / 1024 / 1024} MiB; ${measuredOn(figures)}`
  return markdownTable(columns, [...lines, ['measured on', where, '']])
}

function inWords(row: MemoryRow): string {
  const { runs, killed, serves, requests, peakMb } = row
  const silent = runs - killed - serves
  return [
    `${killed} of ${runs} killed`,
    ...(silent === 0 ? [] : [`${silent} served nothing afterwards`]),
    `${formatPercent(requests.good / requests.sent)} answered in time`,
    `${formatCount(shedOf(row))} shed`,
    `peak ${peakMb} MB`,
  ].join(', ')
}
