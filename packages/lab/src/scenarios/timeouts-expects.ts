/** What the timeouts scenario expects to see. Pure. */
import { formatChosen, formatCount, formatMs, formatPercent, formatRate } from '../report/format.ts'
import type { Expectation } from '../experiment/scenario.ts'
import { faultyRun, healthyRun, openRun, type TimeoutsMeasured } from './timeouts-measured.ts'

/** Of its healthy throughput (published, with a usual timeout: 88 %). */
const keptThroughput = 0.95
/** Nine of ten calls are good; what a limit can save of the others is nothing. */
const availability = { least: 0.88, most: 0.92 }
/** How late a limit may be noticed. */
const lateMs = 100
const pendingShare = 1 / 3

/** Calls that the backend is about to answer as it always does, by Little's law: no limit spares it these. */
function healthyCalls({ rate, answerMs, faultEvery }: TimeoutsMeasured): number {
  return (rate * (1 - 1 / faultEvery) * answerMs) / 1000
}

export const timeoutsExpects: readonly Expectation<TimeoutsMeasured>[] = [
  {
    name: 'bare: the faulty backend costs the frontend throughput that its limits give back (closed loop)',
    judge: measured => {
      const [healthy, bare, naive] = [
        healthyRun(measured),
        faultyRun(measured, 'bare'),
        faultyRun(measured, 'naive timeout'),
      ]
      if (healthy === undefined || bare === undefined || naive === undefined) return undefined
      return {
        pass: bare.okPerSecond < naive.okPerSecond && bare.okPerSecond < healthy.okPerSecond,
        measured: `${formatRate(healthy.okPerSecond)}/s healthy, ${formatRate(bare.okPerSecond)}/s faulty and bare, ${formatRate(naive.okPerSecond)}/s with the usual timeout`,
      }
    },
  },
  {
    name: 'meltproof: transactions/s at least 95 % of the healthy run, at about 90 % availability (closed loop)',
    judge: measured => {
      const [healthy, ours] = [healthyRun(measured), faultyRun(measured, 'meltproof')]
      if (healthy === undefined || ours === undefined) return undefined
      const kept = ours.okPerSecond / healthy.okPerSecond
      return {
        pass:
          kept >= keptThroughput && ours.availability >= availability.least && ours.availability <= availability.most,
        measured: `${formatPercent(kept)} of healthy (${formatRate(ours.okPerSecond)}/s), ${(ours.availability * 100).toFixed(2)} % available`,
      }
    },
  },
  {
    name: 'meltproof: p99 at most the limit and 100 ms (open loop)',
    judge: measured => {
      const p99 = openRun(measured, 'meltproof')?.figures.allMs.p99
      if (p99 === undefined || p99 === null) return undefined
      return {
        pass: p99 <= measured.limitMs + lateMs,
        measured: `p99 ${formatMs(p99)}, the limit is ${formatChosen(measured.limitMs)}`,
      }
    },
  },
  {
    name: 'meltproof: at most a third as many calls wait on the faulty backend as bare (open loop)',
    judge: measured => {
      const [bare, ours] = [openRun(measured, 'bare')?.pendingMean, openRun(measured, 'meltproof')?.pendingMean]
      if (bare === undefined || bare === null || ours === undefined || ours === null) return undefined
      const healthy = healthyCalls(measured)
      return {
        pass: ours <= bare * pendingShare * 1.02, // a sample every 250 ms counts to about 2 %
        measured: `${formatCount(ours)} against ${formatCount(bare)} on average: ${formatPercent(ours / bare)}; ${formatPercent((ours - healthy) / (bare - healthy))} without the ${formatCount(healthy)} that it is about to answer`,
      }
    },
  },
  {
    name: 'every request got an answer: 200, or an error in time (open loop, with a limit)',
    needsQuiet: false,
    judge: measured => {
      const runs = ['naive timeout', 'meltproof'].map(arm => openRun(measured, arm))
      if (runs.some(run => run === undefined)) return undefined
      const lost = runs.reduce((sum, run) => {
        const { sent, unsent, answered } = run!.figures
        return sum + sent + unsent - Object.values(answered).reduce((a, b) => a + b, 0)
      }, 0)
      return { pass: lost === 0, measured: `${formatCount(lost)} without an answer` }
    },
  },
]
