/** Decides whether the capacity, the base of every load and share, is too uncertain for a verdict. Pure. */
import { formatPercent, formatRate } from '../report/format.ts'
import type { Capacity } from './measured.ts'

/** Two searches agree when the larger exceeds the smaller by at most this share. */
export const AGREE_WITHIN = 0.1
/** If the capacity changed by more than this, it says nothing about the run in between. */
const DRIFT_WITHIN = 0.25
export const UNSTEADY = 'its rate still changed after the longest warm-up'

/** Says why the capacity may not be that of the app, and what to do. */
const LIMITED: Readonly<Record<NonNullable<Capacity['generator']>, string>> = {
  saturated:
    'the load generator used its whole core while the capacity was measured, so the app may be able to do more; request a path that costs the app more',
  frozen:
    'the load generator stood still while the capacity was measured; repeat the run on a machine without other work',
}

export interface FoundCapacity extends Pick<Capacity, 'searches' | 'isSteady' | 'ownDrift' | 'generator'> {
  /** The capacity at several times of the run; null where it was not measured. */
  readonly over: readonly (number | null)[]
  /** The best goodput at any load. */
  readonly best: number
}

export function agree(searches: readonly number[]): boolean {
  const [last, before] = [searches.at(-1), searches.at(-2)]
  return last !== undefined && before !== undefined && spread([last, before]) <= AGREE_WITHIN
}

/** A sentence that says what to do; undefined if the capacity is good enough for a verdict. */
export function whyNoVerdict(found: FoundCapacity): string | undefined {
  const { searches, isSteady, generator, over, ownDrift, best } = found
  if (generator !== undefined) return LIMITED[generator]
  const differs = searches !== undefined && !agree(searches)
  if (differs || isSteady === false) {
    const seen = `its capacity is not steady: ${differs ? `successive searches found ${inWords(searches)}` : UNSTEADY}`
    return `${seen}; check whether it still fills a cache or leaks, or use a machine without other work`
  }
  const known = over.filter(rate => rate !== null)
  const again = 'repeat the run on a machine without other work, with an app that has warmed up'
  const drift = known.length === 0 ? 0 : spread(known)
  if ((ownDrift ?? drift) > DRIFT_WITHIN) {
    const part =
      ownDrift === undefined || ownDrift === drift ? '' : ` (${formatPercent(ownDrift)} at one speed of the core)`
    return `the capacity drifted by ${formatPercent(drift)}${part} during the run, from ${inWords(known)}; ${again}`
  }
  const most = Math.max(...known)
  if (known.length > 0 && best > most * (1 + DRIFT_WITHIN)) {
    return `a load was answered at ${formatRate(best)}/s, more than the capacity of ${formatRate(most)}/s that was measured; ${again}`
  }
  return undefined
}

/** The share by which the largest exceeds the smallest. */
const spread = (rates: readonly number[]): number => Math.max(...rates) / Math.min(...rates) - 1

const inWords = (rates: readonly number[]): string => `${rates.map(formatRate).join(', then ')}/s`
