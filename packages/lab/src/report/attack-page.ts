/** Turns an attack into a scenario's result, so that both have the same page. Pure. */
import { formatDuration } from '../durations.ts'
import type { LoadSecond } from '../load/plan.ts'
import { planMs } from '../load/schedule.ts'
import { attackReport } from './attack-report.ts'
import { asked, type AttackRun, offered } from './attack-words.ts'
import { formatMs, formatPercent } from './format.ts'
import { percentilesOf } from './percentiles.ts'
import type { Axis, Plot, ScenarioArm, ScenarioResult, Table, Verdict } from './result.ts'
import { STEP_COLUMNS, stepCells } from './steps-report.ts'
import { TARGET_COLUMNS, targetRows } from './targets-table.ts'

const SCHEDULED: ScenarioArm = { name: 'scheduled', kind: 'also', what: 'requests that were due' }
const GOODPUT: ScenarioArm = { name: 'goodput', kind: 'protected', what: 'answers 2xx and 3xx within the SLO' }

export function attackPage(
  runs: readonly AttackRun[],
  { startedAt, conditions }: Pick<ScenarioResult, 'startedAt' | 'conditions'>,
): ScenarioResult {
  const [first] = runs
  const { plan } = first!
  const several = runs.length > 1
  const percentiles = percentilesOf(runs)
  return {
    kind: 'scenario',
    version: 1,
    name: 'attack',
    title: asked(plan),
    story:
      `${several ? 'Each rate' : offered(plan)} for ${formatDuration(planMs(plan))}. Latencies count from when a request was due; ` +
      `goodput is answers 2xx and 3xx within ${formatDuration(plan.sloMs)}.`,
    form: 'full',
    startedAt,
    elapsedMs: Math.round(runs.reduce((sum, { outcome }) => sum + outcome.elapsedMs, 0)),
    incomplete: runs.some(({ outcome }) => outcome.incomplete),
    certified: runs.every(({ outcome }) => outcome.certified),
    why: runs.flatMap(({ plan: each, outcome }) =>
      outcome.why.map(reason => (several ? `At ${offered(each)}: ${reason}` : reason)),
    ),
    conditions,
    arms: [SCHEDULED, GOODPUT, ...percentiles.arms],
    published: [],
    verdicts: runs.flatMap(run => verdictsOf(run, several)),
    finding: findingOf(runs),
    tables: [...tablesOf(runs), ...percentiles.tables],
    plots: [...(several ? stepPlots(runs) : secondPlots(first!)), ...percentiles.plots],
    printouts: runs.map(({ plan: each, outcome, judged }) => ({
      title: offered(each),
      text: attackReport(each, outcome, judged),
    })),
    measured: null,
  }
}

function findingOf(runs: readonly AttackRun[]): string {
  const words = ({ plan, outcome }: AttackRun): string =>
    `${formatPercent(outcome.scheduled === 0 ? 0 : outcome.good / outcome.scheduled)} at ${offered(plan)}`
  const all = runs.map(words).join(', ')
  const missed = runs.flatMap(run => verdictsOf(run, runs.length > 1)).filter(({ verdict }) => verdict === 'fail')
  const what = missed.map(({ name, measured }) => `${name} (${measured})`)
  const failed = missed.length === 0 ? '' : `Expectations missed: ${what.join(', ')}. `
  if (runs.length > 1) return `${failed}Goodput is ${all}.`
  const { okLatency, journeys } = runs[0]!.outcome
  const through =
    journeys === undefined
      ? ''
      : `${formatPercent(journeys.completed / Math.max(1, journeys.scheduled))} of journeys were completed. `
  return `${failed}${through}Goodput is ${all}, p99 ${formatMs(okLatency.percentile(99))}.`
}

const verdictsOf = ({ plan, judged }: AttackRun, several: boolean): Verdict[] =>
  judged.map(({ expected, met, measured, doubt }) => ({
    name: several ? `${expected} at ${offered(plan)}` : expected,
    verdict: met ? 'pass' : 'fail',
    measured: doubt === undefined ? measured : `${measured}, ${doubt}`,
  }))

function tablesOf(runs: readonly AttackRun[]): Table[] {
  const steps: Table = {
    title: runs.length > 1 ? 'Step by step' : 'In short',
    columns: STEP_COLUMNS,
    rows: runs.map(run => ({ cells: stepCells(run) })),
  }
  const targets = runs.length > 1 ? [] : targetRows(runs[0]!.plan, runs[0]!.outcome)
  if (targets.length === 0) return [steps]
  const named = (cells: readonly string[]): string[] => [cells.at(-1)!, ...cells.slice(0, -1)]
  return [
    steps,
    {
      title: runs[0]!.plan.journey === undefined ? 'Targets' : 'Steps of the journey',
      columns: named(TARGET_COLUMNS),
      rows: targets.map(cells => ({ cells: named(cells) })),
    },
  ]
}

function stepPlots(runs: readonly AttackRun[]): Plot[] {
  const points = runs.map(({ plan, outcome }) => {
    const seconds = planMs(plan) / 1000
    const scheduled = outcome.scheduled / seconds
    return { at: scheduled, scheduled, good: outcome.good / seconds, okLatency: outcome.okLatency }
  })
  return coursePlots({ label: 'scheduled a second', unit: 'rate' }, points)
}

function secondPlots({ plan, outcome }: AttackRun): Plot[] {
  // A partial last second would look like a drop.
  const seconds = outcome.seconds.slice(0, Math.max(1, Math.floor(planMs(plan) / 1000)))
  const points = seconds.map(each => ({ ...each, at: each.second }))
  return coursePlots({ label: 'second', unit: 's' }, points)
}

type Point = Pick<LoadSecond, 'scheduled' | 'good' | 'okLatency'> & { readonly at: number }

function coursePlots(x: Axis, points: readonly Point[]): Plot[] {
  const line = ({ name }: ScenarioArm, of: (point: Point) => number | null) => ({
    arm: name,
    points: points.map(point => [point.at, of(point)] as const),
  })
  const p99 = ({ okLatency }: Point): number | null => (okLatency.count === 0 ? null : okLatency.percentile(99))
  const counts = [line(SCHEDULED, ({ scheduled }) => scheduled), line(GOODPUT, ({ good }) => good)]
  const latency: Axis = { label: 'latency', unit: 'ms', scale: 'log' }
  return [
    { kind: 'lines', title: 'Goodput', x, y: { label: 'a second', unit: 'rate' }, series: counts },
    { kind: 'lines', title: 'p99 of answers 2xx and 3xx', x, y: latency, series: [line(GOODPUT, p99)] },
  ]
}
