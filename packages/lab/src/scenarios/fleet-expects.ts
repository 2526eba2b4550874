/** The expectations of the fleet scenario. Pure. */
import { expectation } from '../experiment/expectation.ts'
import type { Expectation } from '../experiment/scenario.ts'
import { formatCount, formatPercent } from '../report/format.ts'
import { backAfter, type FleetMeasured, type FleetRun, KEPT, kept } from './fleet-measured.ts'

const SHED = 0.005
const BACK_S = 3
/** Shares of a thousand requests may differ by this much by chance. */
const ALIKE = 0.005

const isTold = ({ arm }: FleetRun): boolean => arm.endsWith('told')
const told = ({ runs }: FleetMeasured): readonly FleetRun[] => runs.filter(isTold)
const list = (runs: readonly FleetRun[], of: (run: FleetRun) => string): string =>
  runs.map(run => `${run.arm} ${of(run)}`).join(', ')

export const inBoth = ({ steady, change }: FleetRun): string =>
  `${formatPercent(kept(steady))} and ${formatPercent(kept(change))}`

export const seconds = (run: FleetRun, measured: FleetMeasured): string => {
  const after = backAfter(run, measured.changesAt)
  return after === undefined ? `not within ${run.change.seconds.length - measured.changesAt} s` : `${after} s`
}

export const fleetExpects: readonly Expectation<FleetMeasured>[] = [
  expectation(
    `told: at 0.9 of what the fleet can do, at least ${formatPercent(KEPT)} of the requests are answered within a second`,
    told,
    runs => [runs.every(({ steady }) => kept(steady) >= KEPT), list(runs, ({ steady }) => formatPercent(kept(steady)))],
  ),
  expectation(`told: at most ${formatPercent(SHED)} are shed there`, told, runs => [
    runs.every(({ steady }) => steady.shed <= SHED * steady.due),
    list(runs, ({ steady }) => formatPercent(steady.shed / steady.due)),
  ]),
  expectation(`told: back within ${BACK_S} s after an instance became four times slower`, told, (runs, measured) => [
    runs.every(run => (backAfter(run, measured.changesAt) ?? Number.POSITIVE_INFINITY) <= BACK_S),
    list(runs, run => seconds(run, measured)),
  ]),
  expectation('told: no other arm behind the same balancer is better, in either phase', told, (runs, { runs: all }) => [
    runs.every(run =>
      all.every(other => !isRival(run, other) || (beats(run.steady, other.steady) && beats(run.change, other.change))),
    ),
    list(all, inBoth),
  ]),
  expectation(
    'told: no answer is a 502',
    told,
    runs => [
      runs.every(({ steady, change }) => steady.bad + change.bad === 0),
      list(runs, ({ steady, change }) => formatCount(steady.bad + change.bad)),
    ],
    { needsQuiet: false },
  ),
]

const isRival = (run: FleetRun, other: FleetRun): boolean => !isTold(other) && balancerOf(other) === balancerOf(run)
const balancerOf = ({ arm }: FleetRun): string => arm.split(' ')[0]!
const beats = (ours: FleetRun['steady'], other: FleetRun['steady']): boolean => kept(ours) >= kept(other) - ALIKE
