/** The view of the fleet scenario. Pure. */
import { whyNoVerdict } from '../melt/no-verdict.ts'
import { formatCount, formatMs, formatPercent, formatRate } from '../report/format.ts'
import type { PanelLine, PanelsPlot, ScenarioArm, View } from '../report/result.ts'
import { NOTHING_MEASURED, standingOf } from '../report/standing.ts'
import { tableOf } from '../report/tables.ts'
import { inBoth, seconds } from './fleet-expects.ts'
import {
  BECOMES_SLOW,
  FAST,
  type FleetMeasured,
  type FleetPhase,
  type FleetRun,
  type FleetSecond,
  fleetCapacity,
  kept,
  LOAD,
  SLOW,
  sumOf,
} from './fleet-measured.ts'
import { foundIn } from './searched-capacity.ts'

const untold = 'the instances run without meltproof'

export const arms: readonly ScenarioArm[] = [
  { name: 'HAProxy round robin', kind: 'bare', what: `deploy/haproxy/haproxy.cfg without its agent; ${untold}` },
  { name: 'HAProxy leastconn', kind: 'also', what: `the same with balance leastconn; ${untold}` },
  {
    name: 'HAProxy maxconn 10',
    kind: 'also',
    what: `round robin with maxconn 10, as a careful operator may guess; ${untold}`,
  },
  {
    name: 'HAProxy told',
    kind: 'protected',
    what: 'deploy/haproxy/haproxy.cfg as it is; the instances run with meltproof/register',
  },
  {
    name: 'Envoy round robin',
    kind: 'bare',
    what: `deploy/envoy/adaptive-concurrency.yaml without its filter, round robin; ${untold}`,
  },
  {
    name: 'Envoy least request',
    kind: 'also',
    what: `the same with least request: of two random instances, the one with fewer open requests; ${untold}`,
  },
  {
    name: 'Envoy adaptive',
    kind: 'also',
    what: `deploy/envoy/adaptive-concurrency.yaml as it is; ${untold}`,
  },
  {
    name: 'Envoy told',
    kind: 'protected',
    what: 'deploy/envoy/envoy.yaml as it is; the instances run with meltproof/register',
  },
]

const FORMS = {
  cpu: 'A request takes 1 ms of CPU. Control groups limit each instance to 22 % of a core, the slow one to a quarter of that.',
  wait: 'A request holds one of ten connections for 50 ms; in the slow instance four times as long.',
} as const

/** Says why there is no verdict: without answers a phase does not show how the balancer distributes the load. */
function unanswered(runs: readonly FleetRun[]): string | undefined {
  const silent = runs.filter(({ steady, change }) =>
    [steady, change].some(phase => phase.due > 0 && phase.seconds.every(({ due, failed }) => failed >= due)),
  )
  if (silent.length === 0) return undefined
  return `in a phase of ${silent.map(({ arm }) => arm).join(' and ')} no request was answered; repeat the run`
}

export function fleetView(measured: FleetMeasured): View {
  const { runs, form, capacities, sums } = measured
  if (runs.length === 0) return NOTHING_MEASURED
  const told = runs
    .filter(({ arm }) => arm.endsWith('told'))
    .map(run => {
      const turns = runs.find(({ arm }) => arm === run.arm.replace('told', 'round robin'))
      return `${run.arm} ${inBoth(run)}${turns === undefined ? '' : ` (round robin ${inBoth(turns)})`}`
    })
  return {
    unjudged:
      whyNoVerdict({
        ...(sums === undefined ? { over: [fleetCapacity(measured)] } : foundIn(sums)),
        best: Math.max(...runs.map(({ steady }) => steady.good / Math.max(1, steady.seconds.length))),
      }) ?? unanswered(runs),
    standings: runs.map(({ arm, steady, change }) =>
      standingOf(arm, Math.min(kept(steady), kept(change)), 'good in the worse phase'),
    ),
    finding: `At ${LOAD} of what an uneven fleet can do, and when one more instance becomes slow, this much is answered within a second: ${told.join('; ')}.`,
    plots: [picture(measured)],
    tables: [
      tableOf(
        {
          title: `At ${LOAD} of what the fleet can do`,
          note: `${FORMS[form]} The fleet can do ${formatRate(fleetCapacity(measured))}/s, its instances ${capacities.map(formatRate).join(', ')}/s. Good: answered 2xx within a second.`,
        },
        runs,
        [['arm', ({ arm }) => arm], ...columns(({ steady }) => steady)],
      ),
      tableOf(
        {
          title: `One more becomes four times slower, at ${LOAD} of what the fleet can do then`,
          note: 'Back: seconds from the change until nearly all requests of two seconds in a row were good.',
        },
        runs,
        [['arm', ({ arm }) => arm], ...columns(({ change }) => change), ['back after', run => seconds(run, measured)]],
      ),
    ],
  }
}

function columns(of: (run: FleetRun) => FleetPhase): readonly (readonly [string, (run: FleetRun) => string])[] {
  return [
    ['good', run => formatPercent(kept(of(run)))],
    ['shed', run => formatPercent(of(run).shed / Math.max(1, of(run).due))],
    ['502', run => formatCount(of(run).bad)],
    ['p50', run => formatMs(of(run).p50Ms)],
    ['p99', run => formatMs(of(run).p99Ms)],
    ['to each instance', run => sharesOf(of(run).seconds)],
  ]
}

function sharesOf(course: readonly FleetSecond[]): string {
  const sent = [0, 1, 2, 3].map(n => sumOf(course.map(second => second.sent[n] ?? 0)))
  return sent.map(each => formatPercent(each / Math.max(1, sumOf(sent)))).join(', ')
}

function picture({ runs, changesAt }: FleetMeasured): PanelsPlot {
  const first = runs[0]!.steady.seconds.length
  const to =
    (n: number) =>
    ({ sent, due }: FleetSecond): number =>
      (due * (sent[n] ?? 0)) / Math.max(1, sumOf(sent))
  return {
    kind: 'panels',
    title: 'Requests a second: due, answered in time, and received by each instance',
    x: { label: 'time', unit: 's' },
    y: { label: 'a second', unit: 'count' },
    mark: { at: first + changesAt, name: 'one more becomes slow' },
    panels: runs.map(({ arm, steady, change }) => {
      const course = [...steady.seconds, ...change.seconds]
      const line = (name: string, style: PanelLine['style'], of: (second: FleetSecond) => number): PanelLine => ({
        name,
        style,
        points: course.map((second, at) => [at, of(second)]),
      })
      return {
        arm,
        says: `${formatPercent(kept(steady))} good, then ${formatPercent(kept(change))}`,
        lines: [
          line('due', 'area', ({ due }) => due),
          line('answered in time', 'arm', ({ good }) => good),
          ...FAST.map(n => line('to a fast instance', 'solid', to(n))),
          line('to the instance that becomes slow', 'dashed', to(BECOMES_SLOW)),
          line('to the slow instance', 'dotted', to(SLOW)),
        ],
      }
    }),
  }
}
