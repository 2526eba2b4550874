/** The expectations and the view of the ticks scenario. Pure. */
import { expectation } from '../experiment/expectation.ts'
import type { Expectation, Published } from '../experiment/scenario.ts'
import { formatMs } from '../report/format.ts'
import type { LinesPlot, ScenarioArm, Standing, Table, View } from '../report/result.ts'
import { tableOf } from '../report/tables.ts'
import type { TickRun, TicksMeasured } from './ticks-figures.ts'

export const arms: readonly ScenarioArm[] = [
  { name: 'Node setInterval', kind: 'bare', what: 'one setInterval(operation, 1000 / rate)' },
  { name: 'Go ticker', kind: 'also', what: 'one time.NewTicker(time.Second / rate); needs go on the PATH' },
  { name: 'meltlab', kind: 'protected', what: "this lab's load schedule: every operation has a due time" },
]

/** An operation within this time of its due time is on time. */
const onTimeMs = 1

const at1000 =
  (arm: string, condition = 'free') =>
  ({ runs }: TicksMeasured): TickRun | undefined =>
    runs.find(run => run.arm === arm && run.condition === condition && run.rate === 1000)

const ours =
  (arm: string, condition: string) =>
  (measured: TicksMeasured): string | undefined => {
    const run = at1000(arm, condition)(measured)
    return run && `${run.achieved.toFixed(0)}/s, ${(1000 / run.achieved).toFixed(1)} ms per operation`
  }

export const ticksPublished: readonly Published<TicksMeasured>[] = [
  { what: 'asked for 1000/s, Node', value: '450/s, 2.2 ms per operation', ours: ours('Node setInterval', 'free') },
  { what: 'asked for 1000/s, Node, pinned to one core', value: '740/s', ours: ours('Node setInterval', 'pinned') },
  { what: 'asked for 1000/s, Go', value: '650/s', ours: ours('Go ticker', 'free') },
  { what: 'asked for 1000/s, Go, pinned to one core', value: '1000/s', ours: ours('Go ticker', 'pinned') },
]

export const ticksExpects: readonly Expectation<TicksMeasured>[] = [
  expectation(
    'Node setInterval: at 1000/s the timer drifts, an operation is more than 5 ms from its due time',
    at1000('Node setInterval'),
    ({ achieved, lateP99Ms }) => [lateP99Ms! > 5, `p99 ${formatMs(lateP99Ms)}, ${achieved.toFixed(0)}/s`],
  ),
  expectation(
    'meltlab: at 1000/s all operations run, 99 of 100 within 1 ms of their due times',
    at1000('meltlab'),
    ({ achieved, lateP99Ms }) => [
      achieved >= 995 && lateP99Ms! <= onTimeMs,
      `${achieved.toFixed(1)}/s, p99 ${formatMs(lateP99Ms)}`,
    ],
  ),
  expectation(
    'all keep up to 100/s on a free machine',
    ({ runs }) => {
      const free = runs.filter(run => run.condition === 'free' && run.rate <= 100)
      return free.length === 0 ? undefined : Math.min(...free.map(run => run.achieved / run.rate))
    },
    worst => [worst >= 0.95, `at least ${(100 * worst).toFixed(1)} % of the operations asked for`],
  ),
]

export function ticksView(measured: TicksMeasured): View {
  const conditions = [...new Set(measured.runs.map(run => run.condition))]
  return {
    standings: arms.flatMap(({ name }): Standing[] => {
      const run = at1000(name)(measured)
      if (run?.lateP99Ms == null) return []
      const tone = run.lateP99Ms <= onTimeMs ? 'good' : 'bad'
      const says = tone === 'good' ? 'keeps its times' : 'drifts'
      return [{ arm: name, says, tone, figure: formatMs(run.lateP99Ms), of: 'off at 1000/s, p99' }]
    }),
    finding: finding(measured),
    plots: conditions.map(condition => plot(measured, condition)),
    tables: conditions.map(condition => table(measured, condition)),
  }
}

function finding(measured: TicksMeasured): string {
  const there = arms.flatMap(({ name }) => at1000(name)(measured) ?? [])
  if (there.length < 2) return `${measured.runs.length} runs were measured before the end.`
  const given = there.map(({ arm, achieved }) => `${arm.split(' ')[0]} gives ${achieved.toFixed(0)}`)
  const near = there.map(({ lateP99Ms }) => formatMs(lateP99Ms))
  return `Asked for 1000 operations a second, ${given.join(', ')}; 99 of 100 come within ${near.join(', ')} of their due times.`
}

function plot({ runs, goMissing }: TicksMeasured, condition: string): LinesPlot {
  const those = runs.filter(run => run.condition === condition)
  const ticks = [...new Set(those.map(run => run.rate))]
  return {
    kind: 'lines',
    title: `How far operations are from their due times, p99: ${condition}`,
    ...(goMissing === null ? {} : { note: `No Go: ${goMissing}.` }),
    x: { label: 'operations a second asked for', unit: 'rate', scale: 'log', ticks },
    y: { label: 'off by', unit: 'ms', scale: 'log' },
    series: [...Map.groupBy(those, run => run.arm)].map(([arm, own]) => ({
      arm,
      points: own.map(run => [run.rate, run.lateP99Ms] as const),
    })),
  }
}

function table({ runs }: TicksMeasured, condition: string): Table {
  return tableOf(
    {
      title: `Operations a second: ${condition}`,
      note: 'Off by: the distance of an operation from its due time, counted from the start.',
    },
    runs.filter(run => run.condition === condition),
    [
      ['asked for', run => `${run.rate}/s`],
      ['who', run => run.arm],
      ['got', run => `${run.achieved.toFixed(1)}/s`],
      ['share', run => `${((100 * run.achieved) / run.rate).toFixed(1)} %`],
      ['off by p50', run => formatMs(run.lateP50Ms)],
      ['off by p99', run => formatMs(run.lateP99Ms)],
    ],
  )
}
