/**
 * Checks whether an app carries a load that does not wait for its answers. The capacity search of `meltlab melt` is a
 * closed loop: its users wait for each answer, so with 32 of them it finds a rate at which the queue of an open loop
 * may already grow without end.
 */
import type { SecondResult } from '../../packages/lab/src/melt/measured.ts'
import { AGREE_WITHIN } from '../../packages/lab/src/melt/no-verdict.ts'
import { SAFE_LOAD } from '../../packages/lab/src/melt/recovery.ts'
import { isWell, median } from '../../packages/lab/src/melt/summary.ts'

/** In the second half, the median latency may be this multiple of that in the first half, or this share of the SLO. */
const MOST_GROWTH = 2
const SMALL_SHARE = 0.05
const STEADY_S = 8
/** The capacity is not lowered below this share of what the search found. */
const LEAST_SHARE = 0.3

/** The operations of a load with which to find the capacity of an app. */
export interface SteadyLoad {
  readonly sloMs: number
  /**
   * Sends requests of a few users until V8 has compiled the code of the app, and earlier requests have been answered.
   */
  warm(): Promise<unknown>
  /** Evenly spaced requests. */
  steady(rate: number, durationS: number): Promise<readonly SecondResult[]>
}

export interface SteadyCapacity {
  readonly capacity: number
  /** Why each higher capacity was rejected, the highest first. */
  readonly lowered: readonly string[]
  /** False when even the lowest tried capacity was not steady. */
  readonly isSteady: boolean
}

/** The highest step from `searched` downwards at which 0.8x is steady. */
export async function steadyCapacity(load: SteadyLoad, searched: number): Promise<SteadyCapacity> {
  const reasons: string[] = []
  for (let capacity = searched; ; capacity = lowered(capacity)) {
    const why = await whyUnsteadyAt(load, capacity)
    const found = { capacity, lowered: reasons }
    if (why === undefined) return { ...found, isSteady: true }
    if (lowered(capacity) < LEAST_SHARE * searched) return { ...found, isSteady: false }
    reasons.push(`at ${(SAFE_LOAD * capacity).toFixed(0)}/s ${why}`)
  }
}

/** Why 0.8x of the capacity was not steady; undefined when it was. */
export async function whyUnsteadyAt(load: SteadyLoad, capacity: number): Promise<string | undefined> {
  await load.warm()
  return whyUnsteady(await load.steady(SAFE_LOAD * capacity, STEADY_S), load.sloMs)
}

/** Why evenly spaced requests were not steady; undefined when they were. */
export function whyUnsteady(seconds: readonly SecondResult[], sloMs: number): string | undefined {
  const late = seconds.filter(second => !isWell(second)).length
  if (late > 0) return `it was late in ${late} of ${seconds.length} seconds`
  const half = seconds.length >> 1
  const [first, second] = [seconds.slice(0, half), seconds.slice(half)].map(
    part => median(part.map(each => each.admittedP50Ms ?? 0)) ?? 0,
  ) as [number, number]
  if (second <= Math.max(MOST_GROWTH * first, SMALL_SHARE * sloMs)) return undefined
  return `its median answer went from ${first.toFixed(0)} to ${second.toFixed(0)} ms`
}

/** The next capacity to try: lower by the difference at which two searches disagree. */
export const lowered = (capacity: number): number => capacity / (1 + AGREE_WITHIN)
