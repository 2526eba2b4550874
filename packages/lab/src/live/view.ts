/** What a live run found, in words, tables and plots. Pure. */
import { formatChosen, formatMs, formatMultiple, formatPercent, formatRate } from '../report/format.ts'
import type { LinesPlot, ScenarioArm, Unit, View } from '../report/result.ts'
import { type Columns, tableOf } from '../report/tables.ts'
import type { LiveMeasured, LiveRow, LiveSecond } from './measured.ts'

type Arms = readonly Pick<ScenarioArm, 'name' | 'kind'>[]

export function liveView(measured: LiveMeasured, arms: Arms): View {
  const { capacity, rows, seconds } = measured
  if (capacity === null || seconds.length === 0) {
    return { finding: 'Nothing was measured before the run ended.', tables: [], plots: [] }
  }
  return {
    finding: finding(rows, arms, measured.died),
    tables: rows.length === 0 ? [] : [figuresTable(measured)],
    plots: [...overLoad(measured, capacity.rate), ...overTime(seconds, arms)],
  }
}

/** At the highest load that was held for a while. */
function finding(rows: readonly LiveRow[], arms: Arms, died: LiveMeasured['died']): string {
  const load = Math.max(...rows.map(row => row.load))
  const told = arms.flatMap(({ name, kind }) => {
    const row = rows.find(each => each.arm === name && each.load === load)
    const which = kind === 'bare' ? 'the bare app' : 'the protected one'
    if (row === undefined) return []
    const end = died[name] === undefined ? '' : `, until its process ${died[name]}`
    return [
      `${which} gives ${formatRate(row.goodput)} good answers a second (${formatPercent(row.ofCapacity)} of what it can do${end})`,
    ]
  })
  if (told.length === 0) return 'No load was held long enough to say what it came to.'
  return `At ${formatMultiple(load)} its capacity, ${told.join(' and ')}.`
}

const columns: Columns<LiveRow> = [
  ['', row => row.arm],
  ['load', row => formatMultiple(row.load)],
  ['seconds', row => String(row.seconds)],
  ['offered /s', row => formatRate(row.offered)],
  ['goodput /s', row => formatRate(row.goodput)],
  ['of capacity', row => formatPercent(row.ofCapacity)],
  ['admitted p50', row => formatMs(row.admittedMs.p50)],
  ['admitted p99', row => formatMs(row.admittedMs.p99)],
  ['shed /s', row => formatRate(row.shed)],
  ['shed p99', row => formatMs(row.shedMs.p99)],
  ['late /s', row => formatRate(row.late + row.shedLate)],
  ['lost /s', row => formatRate(row.failed + row.unsent + row.otherStatus)],
]

function figuresTable({ rows, setup, capacity }: LiveMeasured): View['tables'][number] {
  const how = capacity!.given ? 'as given' : 'found in a closed loop on both at once'
  const words = {
    title: 'Figures, by load',
    note:
      `Goodput: 2xx/3xx within ${formatChosen(setup.sloMs)} of the time at which they were due. Capacity: ` +
      `${formatRate(capacity!.rate)}/s each, ${how}. Of each load, the seconds after the first in which it was offered; ` +
      `what an earlier load has left behind is in them. ${setup.request}; ${setup.connections}; ${setup.cores}.`,
  }
  return tableOf(words, rows, columns)
}

function overLoad({ rows, setup }: LiveMeasured, capacity: number): LinesPlot[] {
  const loads = [...new Set(rows.map(row => row.load))].sort((a, b) => a - b)
  // One load is a point, and no line.
  if (loads.length < 2) return []
  const knee = Math.min(1, loads.at(-1)!)
  return [
    {
      kind: 'lines',
      title: 'Goodput against offered load',
      note: 'The dotted line is the ideal: all of the load up to the capacity, and the capacity beyond.',
      x: { label: 'offered load, multiples of the capacity', unit: 'multiple', ticks: loads },
      y: { label: `answers per second within ${formatChosen(setup.sloMs)}`, unit: 'rate' },
      series: [...Map.groupBy(rows, row => row.arm)].map(([arm, mine]) => ({
        arm,
        points: mine.map(row => [row.load, row.goodput] as const),
      })),
      guide: {
        name: `ideal: what the app can do (${formatRate(capacity)}/s)`,
        points: [
          [0, 0],
          [knee, knee * capacity],
          [loads.at(-1)!, knee * capacity],
        ],
      },
    },
  ]
}

function overTime(seconds: readonly LiveSecond[], arms: Arms): LinesPlot[] {
  const plot = (title: string, unit: Unit, of: (second: LiveSecond, arm: string) => number | null): LinesPlot => ({
    kind: 'lines',
    title,
    x: { label: 'when the request was due', unit: 's' },
    y: { label: title, unit, ...(unit === 'ms' ? { scale: 'log' as const } : {}) },
    series: arms.map(({ name }) => ({
      arm: name,
      points: seconds.map(each => [each.second, of(each, name)] as const),
    })),
  })
  return [
    plot('Goodput, second by second', 'rate', (each, arm) => each.sides[arm]?.goodput ?? null),
    plot('Latency p99 of admitted requests', 'ms', (each, arm) => each.sides[arm]?.admittedP99Ms ?? null),
    plot('Offered load', 'multiple', each => each.load),
  ]
}
