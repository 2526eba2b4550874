/** Summarises a simulated run for the tests and for the comparison of limiters. */
import type { Scenario } from './scenarios.ts'
import type { SimResult } from './service.ts'

/** Answers within the SLO, per second, over seconds [from, to). */
export function goodRate(result: SimResult, from: number, to = result.seconds.length): number {
  let good = 0
  for (let s = from; s < to; s++) good += result.seconds[s]!.good
  return good / (to - from)
}

/**
 * Goodput as a share of what perfect admission would have reached, over seconds [from, to). By default it skips the
 * first second, which is cold, and the last, whose requests are served without competition after the run.
 */
export function shareOfIdeal(scenario: Scenario, result: SimResult, from = 1, to = scenario.seconds - 1): number {
  let good = 0
  let ideal = 0
  for (let s = from; s < to; s++) {
    good += result.seconds[s]!.good
    // In a random arrival process, a second may offer less than the average.
    ideal += Math.min(scenario.ideal(s), Math.max(result.seconds[s]!.offered, 1))
  }
  // Where no answer can be in time, nothing was lost.
  return ideal === 0 ? 1 : good / ideal
}

/**
 * Seconds from a change until goodput reaches this share of the ideal, averaged over the two seconds that follow.
 * Infinity if it does not before the next change.
 */
export function secondsToConverge(scenario: Scenario, result: SimResult, changeAt: number, share = 0.9): number {
  const until = Math.min(...scenario.changesAt.filter(at => at > changeAt), scenario.seconds)
  for (let s = changeAt; s + 2 <= until; s++) if (shareOfIdeal(scenario, result, s, s + 2) >= share) return s - changeAt
  return Number.POSITIVE_INFINITY
}

/** The median limit over seconds [from, to), which leaves out the moments in which the limiter probes. */
export function usualLimit(result: SimResult, from: number, to = result.seconds.length): number {
  const limits = result.seconds
    .slice(from, to)
    .map(second => second.limit)
    .sort((a, b) => a - b)
  return limits[limits.length >> 1]!
}

/** Share of requests that were shed. */
export function shedShare(result: SimResult): number {
  return result.shed / result.offered
}
