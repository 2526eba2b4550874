/** A capacity that a scenario searches several times in one run, each time until two searches agree. Pure. */
import { agree, type FoundCapacity } from '../melt/no-verdict.ts'
import { median } from '../report/number-stats.ts'

export interface SearchedCapacity {
  /** The results of the searches, in order. */
  readonly searches: readonly number[]
  /** False if the warm-up ended before the rate was steady. */
  readonly isSteady: boolean
}

/** The mean of the last two searches. */
export const capacityFrom = (searches: readonly number[]): number => median(searches.slice(-2))!

/** The evidence for a verdict: each capacity, and the first one that was not steady. */
export const foundIn = (all: readonly SearchedCapacity[]): Omit<FoundCapacity, 'best'> => ({
  ...all.find(({ searches, isSteady }) => !isSteady || !agree(searches)),
  over: all.map(({ searches }) => capacityFrom(searches)),
})
