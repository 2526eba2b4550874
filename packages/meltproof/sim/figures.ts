/** What a simulated run amounts to, as tests and the comparison of limiters need it. */
import type { Scenario } from './scenarios.ts'
import type { SimResult } from './service.ts'

/** Answers within the SLO per second, over seconds [from, to). */
export function goodRate(result: SimResult, from: number, to = result.seconds.length): number {
  let good = 0
  for (let s = from; s < to; s++) good += result.seconds[s]!.good
  return good / (to - from)
}

/**
 * Goodput as a share of what perfect admission would have reached, over seconds [from, to). Not the first second, in
 * which it starts cold, nor the last, whose requests are served after it without any to compete with.
 */
export function shareOfIdeal(scenario: Scenario, result: SimResult, from = 1, to = scenario.seconds - 1): number {
  let good = 0
  let ideal = 0
  for (let s = from; s < to; s++) {
    good += result.seconds[s]!.good
    // Chance may offer less in a second than it does on average.
    ideal += Math.min(scenario.ideal(s), Math.max(result.seconds[s]!.offered, 1))
  }
  // Where nothing can be in time by nature, all that can be was.
  return ideal === 0 ? 1 : good / ideal
}

/**
 * Seconds from a change until goodput is at least this share of the ideal, on average over the two seconds that follow;
 * Infinity when it never is before the next change.
 */
export function secondsToConverge(scenario: Scenario, result: SimResult, changeAt: number, share = 0.9): number {
  const until = Math.min(...scenario.changesAt.filter(at => at > changeAt), scenario.seconds)
  for (let s = changeAt; s + 2 <= until; s++) if (shareOfIdeal(scenario, result, s, s + 2) >= share) return s - changeAt
  return Number.POSITIVE_INFINITY
}

/** The middle limit of those in seconds [from, to): what it is but for the moments in which the limiter looks around. */
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
