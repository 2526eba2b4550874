/** The results of a workload of the scoreboard: melt's figures beside the ideal, and what a second route kept. Pure. */
import type { MeltMeasured, Row } from '../../melt/measured.ts'
import { standings } from '../../melt/standings.ts'
import { rowsOf } from '../../melt/summary.ts'
import { ABOVE_IDEAL, armColumn, linesOver, meltView } from '../../melt/view.ts'
import { formatMs, formatMultiple, formatPercent, formatRate } from '../../report/format.ts'
import type { LinesPlot, ScenarioArm, Table, View } from '../../report/result.ts'
import { tableOf } from '../../report/tables.ts'
import { idealShare } from './ideal.ts'
import { ARMS, type Mode, type Workload } from './workloads.ts'

export interface OverloadMeasured extends MeltMeasured {
  /** CPU of one shed on this machine, us; not measured if sheds use idle CPU. */
  shedUs?: number
}

type Arms = readonly Pick<ScenarioArm, 'name' | 'kind'>[]

/** The loads of the bars, which the overview shows. */
const WORST_LOADS = [10, 100]

export function overloadView(measured: OverloadMeasured, arms: Arms, workload: Workload, mode: Mode): View {
  const { rows, steps, capacity } = measured
  const ideal = idealOf(measured, workload)
  const view = meltView(measured, arms, [
    ['ideal', row => formatPercent(ideal(row.multiple))],
    ['shed', row => (row.offered === 0 ? '–' : `${((100 * row.shed) / row.offered).toFixed(2)} %`)],
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
  const kept = (row: Row): number => (countsBeside ? row.goodput / row.offered : row.ofCapacity)
  const what = `${title}${countsBeside ? ', the route beside it' : ''}, ${mode}`
  const best = (load: number): number => (countsBeside ? 1 : ideal(load))
  const loads = [...new Set(rows.map(row => row.multiple))].sort((a, b) => a - b)
  const worst = loads.filter(load => WORST_LOADS.includes(load))
  const shown = worst.length > 0 ? worst : loads.slice(-1)
  const keptAt = (load: number, arm: string): string => {
    const row = counted.find(each => each.arm === arm && each.multiple === load)
    return row === undefined ? '' : formatPercent(kept(row))
  }
  const said = arms.map(({ name }) => `${name} ${keptAt(shown[0]!, name)}`).join(', ')
  return {
    ...view,
    standings: standings(
      counted.map(row => ({ ...row, ofCapacity: kept(row) / best(row.multiple) })),
      arms,
    ).map(each => ({ ...each, figure: keptAt(shown[0]!, each.arm), of: `kept at ${formatMultiple(shown[0]!)}` })),
    finding: `Kept at ${formatMultiple(shown[0]!)} the capacity: ${said}; ${formatPercent(best(shown[0]!))} is possible.`,
    overview: {
      columns: ['workload', 'load', ...ARMS, 'ideal'],
      rows: shown.map(load => ({
        cells: [what, formatMultiple(load), ...ARMS.map(arm => keptAt(load, arm)), formatPercent(best(load))],
      })),
    },
    tables: [figures!, ...(beside.length > 0 ? [besideTable(beside)] : []), ...others],
    plots: loads.length > 1 ? [keptPlot(counted, loads, kept, best), ...view.plots.slice(1, 3)] : [],
  }
}

/** The highest possible share of the capacity at a load. */
function idealOf({ capacity, shedUs = 0 }: OverloadMeasured, workload: Workload): (multiple: number) => number {
  const { bound, available = 1, slowdown = 1 } = workload
  const serviceUs = 1e6 / (capacity?.rate ?? 1)
  return k => available * (bound === 'cpu' ? idealShare(k, slowdown * shedUs, serviceUs) : Math.min(1, k))
}

function besideRows({ beside = [] }: MeltMeasured, arms: Arms, workload: Workload): Row[] {
  const names = arms.map(({ name }) => name)
  return rowsOf(beside, names, workload.beside?.rate ?? 1)
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

/** Served requests at each load, on a logarithmic axis, with the upper bound for any server. */
function keptPlot(
  rows: readonly Row[],
  loads: readonly number[],
  kept: (row: Row) => number,
  best: (load: number) => number,
): LinesPlot {
  return {
    kind: 'lines',
    title: 'Answers within 1 s, share of what can be had',
    note: ABOVE_IDEAL,
    x: { label: 'offered load, multiples of the capacity', unit: 'multiple', scale: 'log', ticks: loads },
    y: { label: 'kept', unit: 'percent' },
    series: linesOver(rows, row => 100 * kept(row)),
    guide: { name: 'ideal for the measured cost of a shed', points: loads.map(load => [load, 100 * best(load)]) },
  }
}

/** The figures without single seconds, which are only for examining a run. */
export function keptFigures(measured: MeltMeasured): unknown {
  const short = (steps: MeltMeasured['steps']): unknown[] =>
    steps.map(step => ({ ...step, seconds: undefined, memory: undefined }))
  const { beside } = measured
  return { ...measured, steps: short(measured.steps), ...(beside === undefined ? {} : { beside: short(beside) }) }
}
