/** The view of the timeouts scenario. Pure. */
import {
  formatChosen,
  formatCount,
  formatCounts,
  formatMegabytes,
  formatMs,
  formatPercent,
  formatRate,
} from '../report/format.ts'
import type { Published } from '../experiment/scenario.ts'
import type { Plot, Standing, Table, View } from '../report/result.ts'
import { groupedBars, overTime } from '../report/plots.ts'
import { type Columns, tableOf } from '../report/tables.ts'
import { compareMemory } from './equal-memory.ts'
import {
  arms,
  type ClosedRun,
  faultyRun,
  healthyRun,
  type OpenRun,
  lateMs,
  openRun,
  type Run,
  type TimeoutsMeasured,
} from './timeouts-measured.ts'

export function timeoutsView(measured: TimeoutsMeasured): View {
  return {
    standings: standings(measured),
    finding: finding(measured),
    tables: [closedTable(measured), openTable(measured), memoryTable(measured)].filter(table => table.rows.length > 0),
    plots: plots(measured),
    printouts: [...measured.closed, ...measured.open].map(({ label, printout }) => ({ title: label, text: printout })),
  }
}

function finding(measured: TimeoutsMeasured): string {
  const count = measured.closed.length + measured.open.length
  if (count < 8) return `${count} of 8 runs were measured before the run ended.`
  const p99 = (arm: string): string => formatMs(openRun(measured, arm)!.figures.allMs.p99)
  const good = (run: ClosedRun | undefined): string => formatRate(run!.okPerSecond)
  const kept = (arm: string): string => good(faultyRun(measured, arm))
  return (
    `With every tenth call taking ${formatChosen(measured.faultMs)}, p99 at ${measured.rate}/s is ${p99('bare')} bare, ${p99('naive timeout')} with the usual timeout and ${p99('meltproof')} with meltproof; ` +
    `${measured.users} users get ${kept('bare')}, ${kept('naive timeout')} and ${kept('meltproof')} good answers a second, healthy ${good(healthyRun(measured))}.`
  )
}

export const timeoutsPublished: readonly Published<TimeoutsMeasured>[] = [
  {
    what: 'closed loop, 500 users',
    value: '1156.89 transactions/s, 100 % available',
    ours: ({ closed, users }) => transactions(closed.find(run => !run.faulty && run.users < users)),
  },
  {
    what: 'closed loop, 1000 users',
    value: '1283.61/s, 100 %',
    ours: measured => transactions(healthyRun(measured)),
  },
  {
    what: 'faulty backend, 1000 users',
    value: '853.93/s, 100 %',
    ours: measured => transactions(faultyRun(measured, 'bare')),
  },
  {
    what: 'the same with a timeout of 3 s',
    value: '1125.26/s (88 % of healthy), 90.14 % (209,861 ok, 22,964 failed)',
    ours: measured => transactions(faultyRun(measured, 'naive timeout')),
  },
  {
    what: 'open loop, 1000/s, faulty',
    value: 'mean 1.173 s, p50 171 ms, p95 10.06 s, p99 10.13 s, max 10.77 s, 100 % success',
    ours: measured => latencies(openRun(measured, 'bare')),
  },
  {
    what: 'the same with a timeout of 3 s',
    value: 'mean 456 ms, p50 163 ms, p95 3.048 s, p99 3.07 s, max 3.67 s, 90.00 % success',
    ours: measured => latencies(openRun(measured, 'naive timeout')),
  },
  {
    what: 'heapUsed at 1000/s',
    value: '212 MB average without, 149 MB with (30 % less, Node 7)',
    ours(measured) {
      const [bare, naive] = ['bare', 'naive timeout'].map(arm => openRun(measured, arm)?.heap?.mean)
      if (bare === undefined || naive === undefined) return undefined
      return `${formatMegabytes(bare)} without, ${formatMegabytes(naive)} with (${change(1 - naive / bare)})`
    },
  },
  {
    what: 'heapUsed at unequal throughput',
    value: '194 MB average without, 205 MB with the timeout: 5 % worse',
    ours: () => 'not compared: a process that accepts more requests a second holds more of them',
  },
]

function transactions(run: ClosedRun | undefined): string | undefined {
  if (run === undefined) return undefined
  const { ok, sent, durationMs } = run.figures
  return `${run.okPerSecond.toFixed(2)}/s, ${(100 * run.availability).toFixed(2)} % (${formatCount(ok)} ok, ${formatCount(sent - ok)} failed, in ${formatChosen(durationMs)})`
}

const LATENCIES = ['mean', 'p50', 'p95', 'p99', 'max'] as const

const success = ({ figures: { ok, scheduled } }: OpenRun): string =>
  `${((100 * ok) / Math.max(1, scheduled)).toFixed(2)} %`

function latencies(run: OpenRun | undefined): string | undefined {
  if (run === undefined) return undefined
  const { allMs, durationMs } = run.figures
  const figures = LATENCIES.map(name => `${name} ${formatMs(allMs[name])}`)
  return `${figures.join(', ')}, ${success(run)} success, in ${formatChosen(durationMs)}`
}

const closedLabel = (run: ClosedRun): string => `${run.users} users, ${run.faulty ? 'faulty' : 'healthy'}`

function closedTable({ closed }: TimeoutsMeasured): Table {
  const ofHealthy = ({ users, okPerSecond }: ClosedRun): string => {
    const healthy = closed.find(each => !each.faulty && each.users === users)
    return healthy === undefined ? '–' : formatPercent(okPerSecond / healthy.okPerSecond)
  }
  return tableOf(
    {
      title: 'Closed loop',
      note: 'Users who each wait for their answer. Transactions: 2xx answers a second in the given seconds, in which the number of stuck users is constant.',
    },
    closed,
    [
      ['run', closedLabel],
      ['arm', run => run.arm],
      ['transactions/s', run => formatRate(run.okPerSecond)],
      ['of healthy', ofHealthy],
      ['availability', run => `${(run.availability * 100).toFixed(2)} %`],
      ['mean', run => formatMs(run.figures.okMs.mean)],
      ['longest', run => formatMs(run.figures.allMs.max)],
      ['pending on B', run => formatCount(run.pendingMean)],
      ['rss', run => formatMegabytes(run.rss?.mean ?? null)],
      ['CPU per good answer', run => formatMs(run.cpuPerOkMs)],
      ['seconds', run => `${run.window.from} to ${run.window.to}`],
    ],
  )
}

function openTable({ open, rate }: TimeoutsMeasured): Table {
  const figures: Columns<OpenRun> = LATENCIES.map(name => [name, run => formatMs(run.figures.allMs[name])])
  return tableOf(
    {
      title: `Open loop, ${formatRate(rate)}/s, faulty backend`,
      note: 'Requests that come whatever the frontend does. Latencies are of every answer, also of errors.',
    },
    open,
    [
      ['arm', run => run.arm],
      ...figures,
      ['success', success],
      ['pending on B', run => formatCount(run.pendingMean)],
      ['answers', run => formatCounts(run.figures.answered)],
    ],
  )
}

/** Compares every arm with bare, in both loops; a pair that must not be compared shows the reason instead. */
function memoryTable(measured: TimeoutsMeasured): Table {
  const open = measured.open.map(run => ({ ...run, takenPerSecond: measured.rate }))
  const closed = measured.closed.filter(run => run.faulty)
  return {
    title: 'Memory of the frontend',
    note: 'Averages: rss from outside, heapUsed from a preload every 100 ms. Only runs that accepted equally many requests a second may be compared.',
    columns: ['', 'rss', 'bare', 'with limit', 'heapUsed', 'bare', 'with limit', ''],
    rows: arms
      .slice(1)
      .flatMap(({ name }) => [...memoryRow(name, 'open loop', open), ...memoryRow(name, 'closed loop', closed)]),
  }
}

type Taking = Run & Pick<ClosedRun, 'takenPerSecond'>

function memoryRow(name: string, loop: string, runs: readonly Taking[]): Table['rows'] {
  const [base, other] = ['bare', name].map(arm => {
    const run = runs.find(each => each.arm === arm)
    if (run === undefined || run.rss === null) return undefined
    const heapMeanBytes = run.heap?.mean ?? null
    return { name: arm, throughput: run.takenPerSecond, rssMeanBytes: run.rss.mean, heapMeanBytes }
  })
  if (base === undefined || other === undefined) return []
  const compared = compareMemory(base, other)
  const first = `${name} against bare, ${loop}`
  if (!compared.comparable) return [{ arm: name, cells: [first, 'refused', '', '', '', '', '', compared.why] }]
  const rss = [change(compared.rss), formatMegabytes(base.rssMeanBytes), formatMegabytes(other.rssMeanBytes)]
  const heap = [change(compared.heap), formatMegabytes(base.heapMeanBytes), formatMegabytes(other.heapMeanBytes)]
  return [{ arm: name, cells: [first, ...rss, ...heap, ''] }]
}

const change = (share: number | null): string =>
  share === null ? '–' : share >= 0 ? `${formatPercent(share)} less` : `${formatPercent(-share)} more`

/** Judged by the latency in the open loop: nine of ten answers are good whatever the limits. */
function standings({ open, limitMs }: TimeoutsMeasured): readonly Standing[] {
  return open.flatMap(({ arm, figures: { allMs } }): Standing[] => {
    if (allMs.p99 === null) return []
    const inTime = allMs.p99 <= limitMs + lateMs
    const says = inTime ? `ends within ${formatChosen(limitMs)}` : 'waits for the fault'
    return [{ arm, says, tone: inTime ? 'good' : 'bad', figure: formatMs(allMs.p99), of: 'p99' }]
  })
}

function plots(measured: TimeoutsMeasured): Plot[] {
  const { closed, open, limitMs } = measured
  const closedPlot = groupedBars(
    {
      title: 'Closed loop: transactions a second',
      note: 'Each user waits for the answer before the next request, so a backend that holds users also reduces the load.',
    },
    { label: 'answers 2xx a second', unit: 'rate' },
    [...Map.groupBy(closed, closedLabel)].map(([label, runs]) => [label, runs.map(run => [run.arm, run.okPerSecond])]),
  )
  const closedPlots = closed.length === 0 ? [] : [closedPlot]
  if (open.length === 0) return closedPlots
  return [
    {
      ...groupedBars(
        { title: 'Open loop: latency of every answer' },
        { label: 'latency', unit: 'ms' },
        (['p50', 'p95', 'p99', 'max'] as const).map(name => [
          name === 'max' ? 'longest' : name,
          open.map(run => [run.arm, run.figures.allMs[name]]),
        ]),
      ),
      levels: [{ value: limitMs, name: 'the limit' }],
    },
    ...closedPlots,
    overTime(
      { title: 'Open loop: calls that wait on the faulty backend' },
      { label: 'calls', unit: 'count' },
      open,
      run => run.pending.map(each => [each.atMs, each.calls]),
    ),
    overTime(
      { title: 'Open loop: memory of the frontend', note: 'rss, seen from outside.' },
      { label: 'rss', unit: 'MB' },
      open,
      run => run.rssLine.map(each => [each.atMs, each.rssBytes / 1e6]),
    ),
  ]
}
