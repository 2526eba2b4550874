/** The part of a workload on the page of the scoreboard: its rows in each table, and its finding. Pure. */
import type { Row } from '../../melt/measured.ts'
import { formatMs, formatMultiple, formatPercent } from '../../report/format.ts'
import type { Table } from '../../report/result.ts'
import { ARMS, OURS } from './workloads.ts'

export interface Board {
  /** The workload, as a row names it. */
  readonly what: string
  /** The rows of the route that counts. */
  readonly rows: readonly Row[]
  /** Goodput as a share of its reference, 0..1. */
  readonly kept: (row: Row) => number
  /** The rows at the load at which nothing should be shed; empty without such a load. */
  readonly below: readonly Row[]
  /** The best possible share at a load. */
  readonly best: (load: number) => number
  /** True if each good answer was complete while the load lasted. */
  readonly underLoad: boolean
  /** Why arms are ahead of meltproof in a row, by the arm's name. */
  readonly ahead: Readonly<Record<string, string>>
}

/** The loads that the page shows, as multiples of the capacity. */
const WORST_LOADS = [10, 100]
/** Not measured, or not in this way. */
const DASH = '–'

export const loadsOf = ({ rows }: Board): number[] => [...new Set(rows.map(row => row.multiple))].sort((a, b) => a - b)

export function shownLoads(board: Board): number[] {
  const loads = loadsOf(board)
  const worst = loads.filter(load => WORST_LOADS.includes(load))
  return worst.length > 0 ? worst : loads.slice(-1)
}

const rowAt = ({ rows }: Board, load: number, arm: string): Row | undefined =>
  rows.find(row => row.arm === arm && row.multiple === load)

export function keptAt(board: Board, load: number, arm: string): string {
  const row = rowAt(board, load, arm)
  return row === undefined ? DASH : formatPercent(board.kept(row))
}

const p99Of = ({ admittedMs: { p99 } }: Row): string => (p99 === null ? 'none' : formatMs(p99))

export const shedShare = ({ offered, shed }: Pick<Row, 'offered' | 'shed'>): string =>
  offered === 0 ? DASH : `${((100 * shed) / offered).toFixed(2)} %`

/** Names the best arm first, and counts the arms that kept nothing. */
export function findingOf(board: Board): string {
  const load = shownLoads(board)[0]!
  const rows = board.rows
    .filter(row => row.multiple === load)
    .toSorted((a, b) => board.kept(b) - board.kept(a) || (a.admittedMs.p99 ?? 0) - (b.admittedMs.p99 ?? 0))
  const nothing = formatPercent(0)
  const some = rows.filter(row => formatPercent(board.kept(row)) !== nothing)
  const said = some.map(row => `${row.arm} ${formatPercent(board.kept(row))} (${p99Of(row)})`)
  const none = rows.filter(row => !some.includes(row)).map(row => row.arm)
  const others =
    none.length === 0 ? [] : [`${none.length > 2 ? `${none.length} others` : none.join(' and ')} ${nothing}`]
  const best = formatPercent(board.best(load))
  return `Kept at ${formatMultiple(load)} the capacity, with the p99 of what was admitted: ${[...said, ...others].join(', ')}; ${best} is possible.`
}

export function overviewsOf(board: Board): readonly Table[] {
  const loads = shownLoads(board)
  const rowsFor = (of: (load: number, arm: string) => string, ends: (load: number) => readonly string[] = () => []) =>
    loads.map(load => ({
      cells: [board.what, formatMultiple(load), ...ARMS.map(arm => of(load, arm)), ...ends(load)],
    }))
  const cellOf = (row: Row | undefined, of: (row: Row) => string): string => (row === undefined ? DASH : of(row))
  const belowOf = (arm: string): Row | undefined => board.below.find(row => row.arm === arm)
  const below = cellOf(board.below[0], row => formatMultiple(row.multiple))
  const underLoad = board.underLoad ? 'yes' : DASH
  const columns = ['workload', 'load', ...ARMS]
  return [
    {
      title: 'Goodput kept',
      note:
        `Share of the capacity at each load, with the ideal beside it. ${DASH} means not measured yet. In the last column it ` +
        'means that the load ended together with the window, so that an arm with a long queue gained from its end.',
      columns: [...columns, 'ideal', 'completed under load'],
      rows: rowsFor(
        (load, arm) => keptAt(board, load, arm),
        load => [formatPercent(board.best(load)), underLoad],
      ),
    },
    {
      title: 'Admitted p99',
      note: 'Of the answers 2xx and 3xx at the same loads, whether in time or late. `none`: there was no such answer.',
      columns,
      rows: rowsFor((load, arm) => cellOf(rowAt(board, load, arm), p99Of)),
    },
    {
      title: 'Shed below the capacity',
      note: 'Share of the requests that got a 503 at the highest measured load at which nothing should be shed.',
      columns,
      rows: [{ cells: [board.what, below, ...ARMS.map(arm => cellOf(belowOf(arm), shedShare))] }],
    },
    {
      title: 'Above and to the left of meltproof',
      note: 'Each row in which another arm has no less goodput at no higher p99, and why.',
      columns: ['workload', 'load', 'arm', 'kept', 'p99', 'why'],
      rows: loads.flatMap(load =>
        aheadAt(board, load).map(row => ({
          cells: [
            board.what,
            formatMultiple(load),
            row.arm,
            `${formatPercent(board.kept(row))}, meltproof ${keptAt(board, load, 'meltproof')}`,
            `${p99Of(row)}, meltproof ${cellOf(rowAt(board, load, 'meltproof'), p99Of)}`,
            board.ahead[row.arm] ?? DASH,
          ],
        })),
      ),
    },
  ]
}

/** Rivals at least as good as meltproof in both figures and better in one. Goodput counts in whole percent. */
export function aheadAt(board: Board, load: number): readonly Row[] {
  const ours = rowAt(board, load, 'meltproof')
  if (ours === undefined) return []
  const kept = (row: Row): number => Math.round(100 * board.kept(row))
  const p99 = (row: Row): number => row.admittedMs.p99 ?? Number.POSITIVE_INFINITY
  return board.rows.filter(
    row =>
      row.multiple === load &&
      !OURS.includes(row.arm) &&
      kept(row) >= kept(ours) &&
      p99(row) <= p99(ours) &&
      (kept(row) > kept(ours) || p99(row) < p99(ours)),
  )
}
