/** The expectations of the tide experiment. Pure. */
import { formatCount, formatPercent, formatRate } from '../report/format.ts'
import { expectation } from '../experiment/expectation.ts'
import type { Expectation } from '../experiment/scenario.ts'
import { mostCarried, rateOf, type TideMeasured, type TideStep } from './tide-measured.ts'

/** Phones in the published walk, and the maximum cores for them. */
const PUBLISHED_PHONES = 100
const PUBLISHED_CORES = 0.1
const WANTED_RATE = 3000

export const tideExpects = (arms: readonly string[]): readonly Expectation<TideMeasured>[] => [
  expectation(
    'nothing that was acknowledged is missing from the database, in any step of any arm',
    ({ steps }) => steps,
    steps => {
      const missing = steps.reduce((sum, step) => sum + step.missing, 0)
      const acknowledged = steps.reduce((sum, step) => sum + step.acknowledged, 0)
      return [missing === 0, `${formatCount(missing)} of ${formatCount(acknowledged)} missing`]
    },
    { needsQuiet: false },
  ),
  expectation(
    'nor when the service is killed with SIGKILL and PostgreSQL crashes in the middle',
    ({ crash }) => crash,
    ({ missing, acknowledged, due }) => [
      missing === 0 && acknowledged > 0,
      `${formatCount(missing)} of ${formatCount(acknowledged)} missing; ${formatCount(due)} were sent`,
    ],
    { needsQuiet: false },
  ),
  ...arms.map(arm =>
    expectation<TideMeasured, number>(
      `${arm}: ${PUBLISHED_PHONES} phones take less than ${formatPercent(PUBLISHED_CORES)} of a core`,
      ({ steps }) => steps.find(each => each.arm === arm && each.phones === PUBLISHED_PHONES)?.cores,
      cores => [cores < PUBLISHED_CORES, `${formatPercent(cores)} of a core`],
    ),
  ),
  expectation(
    `meltproof: one process stores and acknowledges ${formatRate(WANTED_RATE)} positions a second within a second`,
    measured => (ours(measured).some(({ phones }) => phones >= WANTED_RATE) ? ours(measured) : []),
    steps => [mostCarried(steps) >= WANTED_RATE, `${formatCount(mostCarried(steps))} phones were carried`],
  ),
  expectation(
    'meltproof: with more phones than it can carry, it still stores 90 % of the best rate in time',
    measured => {
      const most = mostCarried(ours(measured))
      const beyond = ours(measured).filter(({ phones }) => phones > most)
      const worst = beyond.sort((a, b) => rateOf(a) - rateOf(b))[0]
      const best = Math.max(...ours(measured).map(rateOf))
      return worst === undefined || best <= 0 ? undefined : { worst, best }
    },
    ({ worst, best }) => {
      const [least, share] = [rateOf(worst), rateOf(worst) / best]
      const words = `at least ${formatRate(least)}/s of ${formatRate(best)}/s (${formatPercent(share)}), with ${formatCount(worst.phones)} phones`
      return [share >= 0.9, words]
    },
  ),
]

const ours = ({ steps }: TideMeasured): TideStep[] => steps.filter(({ arm }) => arm === 'meltproof')
