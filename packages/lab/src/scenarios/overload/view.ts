/** A workload of the scoreboard: melt's figures, the ideal, the share a second route kept, and the pictures. Pure. */
import type { MeltMeasured, Row } from '../../melt/measured.ts'
import { standings } from '../../melt/standings.ts'
import { isUnderLoad, rowsOf } from '../../melt/summary.ts'
import { ABOVE_IDEAL, armColumn, linesOver, meltView } from '../../melt/view.ts'
import { formatMs, formatMultiple, formatPercent, formatRate } from '../../report/format.ts'
import type { LinesPlot, PointsPlot, ScenarioArm, Table, View } from '../../report/result.ts'
import { tableOf } from '../../report/tables.ts'
import { type Board, findingOf, keptAt, loadsOf, overviewsOf, shedShare, shownLoads } from './board.ts'
import { idealShare } from './ideal.ts'
import type { Mode, Workload } from './workloads.ts'

export interface OverloadMeasured extends MeltMeasured {
  /** CPU time of one shed on this machine, us; not measured if sheds use idle CPU. */
  shedUs?: number
  /** Rows of the second route; only in results of November 2026, which lack its steps. */
  readonly besideRows?: readonly Row[]
}

type Arms = readonly Pick<ScenarioArm, 'name' | 'kind'>[]

export function overloadView(measured: OverloadMeasured, arms: Arms, workload: Workload, mode: Mode): View {
  const { rows, steps, capacity } = measured
  const ideal = idealOf(measured, workload)
  // Stored results have no single seconds, so this view shows none.
  const withoutCourses = { ...measured, steps: steps.map(step => ({ ...step, seconds: [], memory: [] })) }
  const view = meltView(withoutCourses, arms, [
    ['ideal', row => formatPercent(ideal(row.multiple))],
    ['shed', row => shedShare(row)],
    ['rounds', row => String(row.rounds)],
    [
      'certified',
      row => {
        const those = steps.filter(step => step.arm === row.arm && step.multiple === row.multiple)
        const sure = those.filter(step => step.generator.certified).length
        return sure === those.length ? 'yes' : `${sure} of ${those.length}`
      },
    ],
  ])
  if (capacity === null || rows.length === 0) return view
  const [figures, ...others] = view.tables
  const beside = besideRows(measured, arms, workload)
  const { countsBeside, title } = workload
  const counted = countsBeside ? beside : rows
  const board: Board = {
    what: `${title}${countsBeside ? ', the route beside it' : ''}, ${mode}`,
    rows: counted,
    below: belowCapacity(workload.capacity === undefined ? counted : rows, workload),
    kept: row => (countsBeside ? row.goodput / row.offered : row.ofCapacity),
    best: load => (countsBeside ? 1 : ideal(load)),
    underLoad: isUnderLoad(measured.setup),
    ahead: workload.ahead ?? {},
  }
  const [worst] = shownLoads(board)
  return {
    ...view,
    standings: standings(
      board.rows.map(row => ({ ...row, ofCapacity: board.kept(row) / board.best(row.multiple) })),
      arms,
    ).map(each => ({ ...each, figure: keptAt(board, worst!, each.arm), of: `kept at ${formatMultiple(worst!)}` })),
    finding: findingOf(board),
    overviews: overviewsOf(board),
    tables: [figures!, ...(beside.length > 0 ? [besideTable(beside)] : []), ...others],
    plots: [againstP99(board), ...(loadsOf(board).length > 1 ? [keptPlot(board), ...view.plots.slice(1, 3)] : [])],
  }
}

/** The rows at the highest load below the capacity; the highest of all if a workload gives its capacity. */
function belowCapacity(rows: readonly Row[], { capacity }: Workload): readonly Row[] {
  const loads = rows.map(row => row.multiple).filter(load => load < 1 || capacity !== undefined)
  const highest = Math.max(...loads)
  return rows.filter(row => row.multiple === highest)
}

/** The highest possible share of the capacity at a load. */
function idealOf({ capacity, shedUs = 0 }: OverloadMeasured, workload: Workload): (multiple: number) => number {
  const { bound, available = 1, slowdown = 1 } = workload
  const serviceUs = 1e6 / (capacity?.rate ?? 1)
  return k => available * (bound === 'cpu' ? idealShare(k, slowdown * shedUs, serviceUs) : Math.min(1, k))
}

function besideRows(measured: OverloadMeasured, arms: Arms, workload: Workload): readonly Row[] {
  const { beside = [], besideRows: kept } = measured
  const names = arms.map(({ name }) => name)
  return kept ?? rowsOf(beside, names, { rate: workload.beside?.rate ?? 1 })
}

function besideTable(rows: readonly Row[]): Table {
  return tableOf({ title: 'The route beside it' }, rows, [
    armColumn(rows),
    ['load of the first route', row => formatMultiple(row.multiple)],
    ['offered /s', row => formatRate(row.offered)],
    ['goodput /s', row => formatRate(row.goodput)],
    ['kept', row => formatPercent(row.goodput / row.offered)],
    ['p99', row => formatMs(row.admittedMs.p99)],
  ])
}

/** A panel for each load that the page shows. */
export function againstP99(board: Board): PointsPlot {
  return {
    kind: 'points',
    title: 'Goodput against p99',
    note: `Better is up and to the left. An arm in the shaded corner is ahead of meltproof. ${ABOVE_IDEAL}`,
    x: { label: 'p99 of admitted requests (log)', unit: 'ms', scale: 'log' },
    y: { label: 'kept', unit: 'percent' },
    panels: shownLoads(board).map(load => ({
      label: `at ${formatMultiple(load)}`,
      ideal: { value: 100 * board.best(load), name: 'ideal' },
      points: board.rows
        .filter(row => row.multiple === load)
        .map(row => ({ arm: row.arm, x: row.admittedMs.p99, y: 100 * board.kept(row) })),
    })),
  }
}

/** The share that is still served at each load, on a logarithmic axis, with the curve that no server can beat. */
function keptPlot(board: Board): LinesPlot {
  const loads = loadsOf(board)
  const ideal = loads.map(load => [load, 100 * board.best(load)] as const)
  return {
    kind: 'lines',
    title: 'Answers within 1 s, share of what can be had',
    note: ABOVE_IDEAL,
    x: { label: 'offered load, multiples of the capacity', unit: 'multiple', scale: 'log', ticks: loads },
    y: { label: 'kept', unit: 'percent' },
    series: linesOver(board.rows, row => 100 * board.kept(row)),
    guide: { name: 'ideal for the measured cost of a shed', points: ideal },
  }
}

/** The figures without single seconds, which are only for examining a run. */
export function keptFigures(measured: MeltMeasured): unknown {
  const short = (steps: MeltMeasured['steps']): unknown[] =>
    steps.map(step => ({ ...step, seconds: undefined, memory: undefined }))
  const { beside } = measured
  return { ...measured, steps: short(measured.steps), ...(beside === undefined ? {} : { beside: short(beside) }) }
}
