/** What the timeouts scenario shows of its figures. Pure. */
import { formatChosen, formatCount, formatMegabytes, formatMs, formatPercent, formatRate } from '../report/format.ts'
import { statsLine } from '../report/number-stats.ts'
import type { Plot, Printout, Table, View } from '../report/result.ts'
import { siegeSummary } from '../report/siege-summary.ts'
import { vegetaSummary } from '../report/vegeta-summary.ts'
import { latencyBars, overTime } from '../report/plots.ts'
import { compareMemory, type MemoryRun } from './equal-memory.ts'
import {
  arms,
  type ClosedRun,
  faultyRun,
  healthyRun,
  type OpenRun,
  openRun,
  type TimeoutsMeasured,
} from './timeouts-measured.ts'

export function timeoutsView(measured: TimeoutsMeasured): View {
  return {
    finding: finding(measured),
    tables: [closedTable(measured), openTable(measured), memoryTable(measured)].filter(table => table.rows.length > 0),
    plots: plots(measured),
    printouts: printouts(measured),
  }
}

function finding(measured: TimeoutsMeasured): string {
  const [healthy, bare, ours] = [healthyRun(measured), faultyRun(measured, 'bare'), faultyRun(measured, 'meltproof')]
  if (healthy === undefined || bare === undefined || ours === undefined) {
    return `${measured.closed.length + measured.open.length} of 8 runs were measured before the run ended.`
  }
  const kept = (run: ClosedRun): string =>
    `${formatRate(run.okPerSecond)} good answers a second (${formatPercent(run.okPerSecond / healthy.okPerSecond)} of healthy)`
  const open = openRun(measured, 'meltproof')
  const bareOpen = openRun(measured, 'bare')
  const latency =
    open === undefined || bareOpen === undefined
      ? ''
      : `; at ${measured.rate}/s its p99 is ${formatMs(open.figures.allMs.p99)} instead of ${formatMs(bareOpen.figures.allMs.p99)}`
  return `With every tenth call taking ${formatChosen(measured.faultMs)}, the bare frontend keeps ${kept(bare)}, with meltproof ${kept(ours)}${latency}.`
}

const closedLabel = (run: ClosedRun): string => `${run.users} users, ${run.faulty ? 'faulty' : 'healthy'}`

function closedTable({ closed }: TimeoutsMeasured): Table {
  return {
    title: 'Closed loop',
    note: 'Users who each wait for their answer. Transactions: answers 2xx a second in the seconds given, when as many users are stuck as ever will be.',
    columns: [
      'run',
      'arm',
      'transactions/s',
      'of healthy',
      'availability',
      'mean',
      'longest',
      'pending on B',
      'rss',
      'CPU per good answer',
      'seconds',
    ],
    rows: closed.map(run => {
      const healthy = closed.find(each => !each.faulty && each.users === run.users)
      return {
        arm: run.arm,
        cells: [
          closedLabel(run),
          run.arm,
          formatRate(run.okPerSecond),
          healthy === undefined ? '–' : formatPercent(run.okPerSecond / healthy.okPerSecond),
          `${(run.availability * 100).toFixed(2)} %`,
          formatMs(run.figures.okMs.mean),
          formatMs(run.figures.allMs.max),
          run.pendingMean === null ? '–' : formatCount(run.pendingMean),
          run.rss === null ? '–' : formatMegabytes(run.rss.mean),
          formatMs(run.cpuPerOkMs),
          `${run.window.from} to ${run.window.to}`,
        ],
      }
    }),
  }
}

function openTable({ open, rate }: TimeoutsMeasured): Table {
  return {
    title: `Open loop, ${formatRate(rate)}/s, faulty backend`,
    note: 'Requests that come whatever the frontend does. Latencies are of every answer, also of errors.',
    columns: ['arm', 'mean', 'p50', 'p95', 'p99', 'max', 'success', 'pending on B', 'answers'],
    rows: open.map(run => {
      const { allMs, ok, scheduled, answered } = run.figures
      return {
        arm: run.arm,
        cells: [
          run.arm,
          ...[allMs.mean, allMs.p50, allMs.p95, allMs.p99, allMs.max].map(formatMs),
          `${((100 * ok) / Math.max(1, scheduled)).toFixed(2)} %`,
          run.pendingMean === null ? '–' : formatCount(run.pendingMean),
          Object.entries(answered)
            .map(([status, count]) => `${status}: ${formatCount(count)}`)
            .join(', '),
        ],
      }
    }),
  }
}

function memoryRun(name: string, run: ClosedRun | OpenRun, throughput: number): MemoryRun | undefined {
  if (run.rss === null) return undefined
  return { name, throughput, rssMeanBytes: run.rss.mean, heapMeanBytes: run.heap?.mean ?? null }
}

/** Every arm against bare, in both loops; a pair that may not be compared says why instead of a figure. */
function memoryTable(measured: TimeoutsMeasured): Table {
  const pairs = arms.slice(1).flatMap(({ name }) => {
    const [bareClosed, closed] = [faultyRun(measured, 'bare'), faultyRun(measured, name)]
    const [bareOpen, open] = [openRun(measured, 'bare'), openRun(measured, name)]
    return [
      {
        loop: 'open loop',
        name,
        base: bareOpen && memoryRun('bare', bareOpen, measured.rate),
        run: open,
        other: open && memoryRun(name, open, measured.rate),
      },
      {
        loop: 'closed loop',
        name,
        base: bareClosed && memoryRun('bare', bareClosed, bareClosed.takenPerSecond),
        run: closed,
        other: closed && memoryRun(name, closed, closed.takenPerSecond),
      },
    ]
  })
  const rows = pairs.flatMap(({ loop, name, base, other }) => {
    if (base === undefined || other === undefined) return []
    const compared = compareMemory(base, other)
    const cells = compared.comparable
      ? [
          change(compared.rss),
          formatMegabytes(base.rssMeanBytes),
          formatMegabytes(other.rssMeanBytes),
          compared.heap === null ? '–' : change(compared.heap),
          base.heapMeanBytes === null ? '–' : formatMegabytes(base.heapMeanBytes),
          other.heapMeanBytes === null ? '–' : formatMegabytes(other.heapMeanBytes),
        ]
      : ['refused', '', '', '', '', '']
    return [{ arm: name, cells: [`${name} against bare, ${loop}`, ...cells, compared.comparable ? '' : compared.why] }]
  })
  return {
    title: 'Memory of the frontend',
    note: 'Averages: rss from outside, heapUsed from a preload every 100 ms. Only runs that took on as many requests a second may be compared.',
    columns: ['', 'rss', 'bare', 'with limit', 'heapUsed', 'bare', 'with limit', ''],
    rows,
  }
}

const change = (share: number): string =>
  share >= 0 ? `${formatPercent(share)} less` : `${formatPercent(-share)} more`

function plots(measured: TimeoutsMeasured): Plot[] {
  const { closed, open, limitMs } = measured
  const found: Plot[] = []
  if (closed.length > 0) {
    const labels = [...new Set(closed.map(closedLabel))]
    found.push({
      kind: 'bars',
      title: 'Closed loop: transactions a second',
      note: 'Each user waits for the answer before asking again, so a backend that holds them takes the load away too.',
      y: { label: 'answers 2xx a second', unit: 'rate' },
      groups: labels.map(label => ({
        label,
        bars: closed.filter(run => closedLabel(run) === label).map(run => ({ arm: run.arm, value: run.okPerSecond })),
      })),
    })
  }
  if (open.length === 0) return found
  return [
    ...found,
    latencyBars(
      { title: 'Open loop: latency of every answer' },
      ['mean', 'p50', 'p95', 'p99', 'max'],
      open,
      (run, figure) => run.figures.allMs[figure],
      limitMs,
    ),
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

function printouts({ closed, open }: TimeoutsMeasured): Printout[] {
  return [
    ...closed.map(run => ({ title: `siege: ${closedLabel(run)}, ${run.arm}`, text: siegeSummary(run.figures) })),
    ...open.map(run => ({
      title: `vegeta: ${formatRate(run.rate)}/s, faulty, ${run.arm}`,
      text: vegetaSummary(run.figures),
    })),
    ...open.flatMap(run =>
      run.heap === null
        ? []
        : [{ title: `number-aggregator-stats: heapUsed, bytes, ${run.arm}`, text: `${statsLine(run.heap)}\n` }],
    ),
  ]
}
