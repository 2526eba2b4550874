/** The expectations and the view of the blame scenario. Pure. */
import { expectation } from '../experiment/expectation.ts'
import type { Expectation, Published } from '../experiment/scenario.ts'
import { formatMs } from '../report/format.ts'
import { groupedBars } from '../report/plots.ts'
import type { ScenarioArm, Table, View } from '../report/result.ts'
import { toneOf } from '../report/standing.ts'
import {
  ALERT_ABOVE_MS,
  type BlameMeasured,
  CAUSES,
  type Cause,
  errorsOf,
  type Fired,
  firesRightly,
  hasAlert,
  meanLatency,
  naiveAlertFires,
  type Operation,
  VERDICTS,
  verdictCounts,
} from './blame-figures.ts'

export const arms: readonly ScenarioArm[] = [
  { name: 'latency alone', kind: 'bare', what: `an alert on sustained latency above ${ALERT_ABOVE_MS} ms` },
  {
    name: 'meltproof',
    kind: 'protected',
    what: 'the verdict of each RequestRecord, and the alerts of deploy/prometheus',
  },
]

/** Maximum mean absolute error of an estimate, ms. */
const mostOff = (claims: boolean): number => (claims ? 1 : 6)

const of = ({ operations }: BlameMeasured, cause: Cause): Operation[] => operations.filter(each => each.cause === cause)

const injectedIn = ({ operations }: BlameMeasured): Operation[] => operations.filter(({ cause }) => cause !== 'nothing')

const rightShare = (operations: readonly Operation[]): number =>
  operations.filter(({ cause, verdict }) => cause === verdict).length / operations.length

const complete = (measured: BlameMeasured): BlameMeasured | undefined =>
  CAUSES.every(cause => of(measured, cause).length > 0) ? measured : undefined

const fired = ({ alerts }: BlameMeasured): readonly Fired[] | undefined =>
  alerts.length === CAUSES.length ? alerts : undefined

const saysWho = (alerts: readonly Fired[]): string =>
  alerts.map(({ cause, firing }) => `${cause}: ${firing.length === 0 ? 'none' : firing.join(' and ')}`).join(', ')

export const blamePublished: readonly Published<BlameMeasured>[] = [
  {
    what: 'the worked case',
    value: 'an operation of about 100 ms, an alert on sustained latency above 250 ms',
    ours: measured =>
      complete(measured) &&
      `the same: ${formatMs(meanLatency(of(measured, 'nothing')))} when nothing is slow, an alert above ${ALERT_ABOVE_MS} ms`,
  },
  {
    what: 'what its firing means',
    value: 'not known: queue, process and dependency are in one number',
    ours: measured => {
      const alerts = fired(measured)
      return alerts && `the alerts that fire with meltproof, by what was injected: ${saysWho(alerts)}`
    },
  },
]

export const blameExpects: readonly Expectation<BlameMeasured>[] = [
  expectation(
    'latency alone: the alert fires for all four alike, and not for the healthy service',
    complete,
    measured => [
      CAUSES.every(cause => naiveAlertFires(of(measured, cause)) === (cause !== 'nothing')),
      CAUSES.map(cause => `${cause} ${formatMs(meanLatency(of(measured, cause)))}`).join(', '),
    ],
  ),
  expectation(
    'meltproof: the shipped alert of a blocked loop, a slow dependency and a slow network fires for its own cause alone',
    fired,
    alerts => [alerts.every(firesRightly), saysWho(alerts)],
    { needsQuiet: false },
  ),
  expectation('meltproof: at least 99 % of the single verdicts are right', complete, measured => {
    const all = injectedIn(measured)
    const share = rightShare(all)
    return [share >= 0.99, `${(share * 100).toFixed(1)} % of ${all.length} operations`]
  }),
  ...[true, false].map(claims =>
    expectation(
      `meltproof: the time of a dependency is known within ${mostOff(claims)} ms on average while the loop stalls, ${claims ? 'with' : 'without'} Server-Timing`,
      ({ estimates }: BlameMeasured) => errorsOf(estimates.filter(each => each.claims === claims)),
      ({ mean }) => [mean <= mostOff(claims), `off by ${formatMs(mean)}`],
    ),
  ),
]

function estimateTable({ estimates }: BlameMeasured): Table {
  return {
    title: 'What a dependency of 20 to 80 ms took, while the loop stalls',
    note: 'Mean absolute error against what the dependency measured; two calls in three meet a stall of 20 to 150 ms.',
    columns: ['the dependency', 'calls', 'estimate', 'its worst', 'wall time, for comparison'],
    rows: [true, false].flatMap(claims => {
      const those = estimates.filter(each => each.claims === claims)
      const errors = errorsOf(those)
      if (errors === undefined) return []
      const { mean, worst, wall } = errors
      const who = claims ? 'sends Server-Timing' : 'does not'
      return [{ arm: 'meltproof', cells: [who, String(those.length), ...[mean, worst, wall].map(formatMs)] }]
    }),
  }
}

/** Returns no standings before every cause was measured. */
function judged(measured: BlameMeasured, bad: readonly Cause[]): Pick<View, 'standings' | 'finding'> {
  const { operations } = measured
  if (bad.length < CAUSES.length - 1) {
    return { finding: `${operations.length} operations were measured before the end.` }
  }
  const fires = `${bad.filter(cause => naiveAlertFires(of(measured, cause))).length} of ${bad.length}`
  const own = (fired(measured) ?? []).filter(({ cause }) => hasAlert(cause))
  const shipped =
    own.length === 0
      ? ''
      : `the shipped alert of ${own.filter(firesRightly).length} of ${own.length} fires for its own cause alone; `
  const all = injectedIn(measured)
  const right = `${(100 * rightShare(all)).toFixed(1)} %`
  return {
    finding: `The alert on latency fires for ${fires} causes alike; ${shipped}the verdict is right for ${right} of ${all.length} operations.`,
    standings: [
      { arm: 'latency alone', says: 'names no cause', tone: 'bad', figure: fires, of: 'alike' },
      { arm: 'meltproof', says: 'names the cause', tone: toneOf(rightShare(all)), figure: right, of: 'right' },
    ],
  }
}

export function blameView(measured: BlameMeasured): View {
  const there = CAUSES.filter(cause => of(measured, cause).length > 0)
  const bad = there.filter(cause => cause !== 'nothing')
  return {
    ...judged(measured, bad),
    plots: [
      groupedBars(
        {
          title: 'Alerts that name what was injected',
          note: 'An alert on latency fires for all of them and names none.',
        },
        { label: 'named rightly', unit: 'percent' },
        bad.map(cause => {
          const right = 100 * rightShare(of(measured, cause))
          return [cause, [['latency alone', 0] as const, ['meltproof', right] as const]]
        }),
      ),
      {
        ...groupedBars(
          { title: 'Mean latency as the client sees it' },
          { label: 'latency', unit: 'ms' },
          there.map(cause => [cause, [['latency alone', meanLatency(of(measured, cause))]]]),
        ),
        levels: [{ value: ALERT_ABOVE_MS, name: 'alert' }],
      },
    ],
    tables: [
      {
        title: 'What was injected, and the results',
        columns: ['injected', 'operations', 'mean latency', 'latency alone', ...VERDICTS, 'alerts that fire'],
        note: 'By verdict: how many operations it named. The alerts are those of deploy/prometheus, their minutes made seconds.',
        rows: there.map(cause => {
          const operations = of(measured, cause)
          const counts = verdictCounts(operations)
          return {
            cells: [
              cause,
              String(operations.length),
              formatMs(meanLatency(operations)),
              naiveAlertFires(operations) ? 'alert' : 'silent',
              ...VERDICTS.map(verdict => String(counts[verdict])),
              measured.alerts.find(each => each.cause === cause)?.firing.join(', ') || 'none',
            ],
          }
        }),
      },
      ...(measured.estimates.length === 0 ? [] : [estimateTable(measured)]),
    ],
  }
}
