/** A scenario for a fleet, the result of perfect balancing and admission, and how near to it a run came. */
import type { FleetPlan, FleetResult } from './fleet.ts'

export interface FleetScenario extends FleetPlan {
  readonly name: string
  /** Requests that could be answered well in second `s`, at most those offered. */
  readonly ideal: (s: number) => number
  /** When a member's capacity changes, s. */
  readonly changesAt?: readonly number[]
  /** Proxies are still learning before this second, so it is not judged. @default 6 */
  readonly from?: number
}

export interface FleetFigures {
  /** Goodput as a share of the ideal. */
  readonly good: number
  /**
   * Shares of the offered requests: refused by members or proxies (`shed`); failed, late or given up (`failed`). `lost`
   * is a count.
   */
  readonly shed: number
  readonly lost: number
  readonly failed: number
  /** Seconds from the last change until goodput is 97 % of the ideal, both in that second and averaged over three. */
  readonly backAfter: number | undefined
}

const FROM = 6
const BACK = 0.97

export function figuresOf(scenario: FleetScenario, { seconds }: Pick<FleetResult, 'seconds'>): FleetFigures {
  const ideal = (s: number): number => Math.min(scenario.ideal(s), Math.max(1, seconds[s]!.offered))
  const share = (from: number, to: number): number => {
    let [good, best] = [0, 0]
    for (let s = from; s < Math.min(to, seconds.length); s++) {
      good += Math.min(seconds[s]!.good, ideal(s))
      best += ideal(s)
    }
    return best === 0 ? 1 : good / best
  }
  const judged = seconds.slice(scenario.from ?? FROM)
  const sum = (of: (second: (typeof seconds)[number]) => number): number =>
    judged.reduce((all, each) => all + of(each), 0)
  const offered = sum(each => each.offered)
  const changed = scenario.changesAt?.at(-1)
  return {
    good: sum(each => each.good) / judged.reduce((all, _, i) => all + ideal(i + (scenario.from ?? FROM)), 0),
    shed: sum(each => each.shed + each.turnedAway) / offered,
    lost: sum(each => each.lost),
    failed: sum(each => each.failed + each.late + each.gaveUp) / offered,
    backAfter: changed === undefined ? undefined : backAfter(changed),
  }

  function backAfter(at: number): number {
    for (let s = at; s + 3 <= seconds.length; s++) if (share(s, s + 1) >= BACK && share(s, s + 3) >= BACK) return s - at
    return Number.POSITIVE_INFINITY
  }
}
