/** The expectations of the timeouts scenario. Pure. */
import { formatChosen, formatCount, formatMs, formatPercent, formatRate } from '../report/format.ts'
import { allOf, expectation } from '../experiment/expectation.ts'
import type { Expectation } from '../experiment/scenario.ts'
import { sumOf } from './sick-part.ts'
import { faultyRun, healthyRun, lateMs, openRun, type TimeoutsMeasured } from './timeouts-measured.ts'

/** Minimum share of the healthy throughput (published, with a usual timeout: 88 %). */
const keptThroughput = 0.95
/** Nine of ten calls are good, and no limit can save the others. */
const availability = { least: 0.88, most: 0.92 }
const pendingShare = 1 / 3

/** Calls that the backend is about to answer normally, by Little's law: no limit removes these. */
function healthyCalls({ rate, answerMs, faultEvery }: TimeoutsMeasured): number {
  return (rate * (1 - 1 / faultEvery) * answerMs) / 1000
}

export const timeoutsExpects: readonly Expectation<TimeoutsMeasured>[] = [
  expectation(
    'bare: with a faulty backend the frontend answers fewer requests than with a healthy one, and fewer than with the usual timeout (closed loop)',
    measured => allOf(healthyRun(measured), faultyRun(measured, 'bare'), faultyRun(measured, 'naive timeout')),
    runs => {
      const [healthy, bare, naive] = runs.map(run => run.okPerSecond) as [number, number, number]
      const words = `${formatRate(healthy)}/s healthy, ${formatRate(bare)}/s faulty and bare, ${formatRate(naive)}/s with the usual timeout`
      return [bare < naive && bare < healthy, words]
    },
  ),
  expectation(
    'meltproof: transactions/s at least 95 % of the healthy run, at about 90 % availability (closed loop)',
    measured => allOf(healthyRun(measured), faultyRun(measured, 'meltproof')),
    ([healthy, ours]) => {
      const kept = ours!.okPerSecond / healthy!.okPerSecond
      const available = ours!.availability
      return [
        kept >= keptThroughput && available >= availability.least && available <= availability.most,
        `${formatPercent(kept)} of healthy (${formatRate(ours!.okPerSecond)}/s), ${(available * 100).toFixed(2)} % available`,
      ]
    },
  ),
  expectation(
    'meltproof: p99 at most the limit and 100 ms (open loop)',
    measured => openRun(measured, 'meltproof')?.figures.allMs.p99 ?? undefined,
    (p99, { limitMs }) => [p99 <= limitMs + lateMs, `p99 ${formatMs(p99)}, the limit is ${formatChosen(limitMs)}`],
  ),
  expectation(
    'meltproof: at most a third as many calls wait on the faulty backend as bare (open loop)',
    measured => allOf(...['bare', 'meltproof'].map(arm => openRun(measured, arm)?.pendingMean ?? undefined)),
    (pending, measured) => {
      const [bare, ours] = pending as [number, number]
      const healthy = healthyCalls(measured)
      return [
        ours <= bare * pendingShare * 1.02, // Samples every 250 ms are accurate to about 2 %.
        `${formatCount(ours)} against ${formatCount(bare)} on average: ${formatPercent(ours / bare)}; ${formatPercent((ours - healthy) / (bare - healthy))} without the ${formatCount(healthy)} that it will answer anyway`,
      ]
    },
  ),
  expectation(
    'every request got an answer: 200, or an error in time (open loop, with a limit)',
    measured => allOf(...['naive timeout', 'meltproof'].map(arm => openRun(measured, arm))),
    runs => {
      const lost = runs.map(({ figures: { sent, unsent, answered } }) => sent + unsent - sumOf(answered))
      const all = lost.reduce((a, b) => a + b, 0)
      return [all === 0, `${formatCount(all)} without an answer`]
    },
    { needsQuiet: false },
  ),
]
