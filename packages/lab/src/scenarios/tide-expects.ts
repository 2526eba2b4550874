/** What the tide experiment expects. Pure. */
import { formatCount, formatPercent, formatRate } from '../report/format.ts'
import type { Expectation } from '../experiment/scenario.ts'
import { mostCarried, rateOf, type TideMeasured } from './tide-measured.ts'

/** Phones of the published walk, and what they may cost, in cores. */
const PUBLISHED_PHONES = 100
const PUBLISHED_CORES = 0.1
const WANTED_RATE = 3000

export const tideExpects = (arms: readonly string[]): readonly Expectation<TideMeasured>[] => [
  {
    name: 'nothing that was acknowledged is missing from the database, in any step of any arm',
    needsQuiet: false,
    judge: ({ steps }) => {
      if (steps.length === 0) return undefined
      const missing = steps.reduce((sum, step) => sum + step.missing, 0)
      const acknowledged = steps.reduce((sum, step) => sum + step.acknowledged, 0)
      return { pass: missing === 0, measured: `${formatCount(missing)} of ${formatCount(acknowledged)} missing` }
    },
  },
  {
    name: 'nor when the service is killed with SIGKILL and PostgreSQL crashes in the middle',
    needsQuiet: false,
    judge: ({ crash }) =>
      crash && {
        pass: crash.missing === 0 && crash.acknowledged > 0,
        measured: `${formatCount(crash.missing)} of ${formatCount(crash.acknowledged)} missing; ${formatCount(crash.due)} were sent`,
      },
  },
  ...arms.map(
    (arm): Expectation<TideMeasured> => ({
      name: `${arm}: ${PUBLISHED_PHONES} phones take less than ${formatPercent(PUBLISHED_CORES)} of a core`,
      judge: ({ steps }) => {
        const step = steps.find(each => each.arm === arm && each.phones === PUBLISHED_PHONES)
        return step && { pass: step.cores < PUBLISHED_CORES, measured: `${formatPercent(step.cores)} of a core` }
      },
    }),
  ),
  {
    name: `meltproof: one process stores and acknowledges ${formatRate(WANTED_RATE)} positions a second within a second`,
    judge: ({ steps }) => {
      const mine = steps.filter(({ arm }) => arm === 'meltproof')
      if (!mine.some(({ phones }) => phones >= WANTED_RATE)) return undefined
      const most = mostCarried(mine)
      return { pass: most >= WANTED_RATE, measured: `${formatCount(most)} phones were carried` }
    },
  },
  {
    name: 'meltproof: with more phones than it can carry, it still stores 90 % of the best rate in time',
    judge: ({ steps }) => {
      const mine = steps.filter(({ arm }) => arm === 'meltproof')
      const most = mostCarried(mine)
      const best = Math.max(...mine.map(rateOf))
      const beyond = mine.filter(({ phones }) => phones > most).sort((a, b) => rateOf(a) - rateOf(b))[0]
      if (beyond === undefined || best <= 0) return undefined
      const share = rateOf(beyond) / best
      const measured = `at least ${formatRate(rateOf(beyond))}/s of ${formatRate(best)}/s (${formatPercent(share)}), with ${formatCount(beyond.phones)} phones`
      return { pass: share >= 0.9, measured }
    },
  },
]
