/** The figures of one side over the last two seconds, from the generator's counts. Pure. */
import { doubtedMs, MEDIAN_AND_P99 } from '../load/certify.ts'
import { Histogram } from '../load/histogram.ts'
import { keptOf, toneOf } from '../report/standing.ts'
import type { Fate, SideCounts } from './side-counter.ts'

/** Long enough to be steady, short enough to follow the slider, ms. */
const WINDOW_MS = 2000

/** One word, also for people who cannot see the colours. `recovers`: from a higher load; `ended`: the process ended. */
export type State = 'waits' | 'keeps-up' | 'full' | 'strains' | 'melts' | 'recovers' | 'ended'

export interface Figures extends Readonly<Record<Fate, number>> {
  readonly due: number
  /** p99 of 2xx and 3xx answers; null without any. */
  readonly p99Ms: number | null
  /** The part of p50 or p99 that the generator may have caused, if above the certified maximum; else null. */
  readonly ownMs: number | null
  readonly state: State
}

interface Counted {
  readonly lengthMs: number
  readonly counts: SideCounts
}

/** The last `ticks` that fill a window, at least one. */
export function windowOf<T extends { readonly lengthMs: number }>(ticks: readonly T[]): readonly T[] {
  let lengthMs = 0
  let from = ticks.length
  while (from > 0 && lengthMs < WINDOW_MS) lengthMs += ticks[--from]!.lengthMs
  return ticks.slice(from)
}

/** Rates are per second, and so is `capacity`. `state` replaces the state that follows from the figures. */
export function figuresOf(ticks: readonly Counted[], capacity: number, state?: State): Figures {
  const lengthS = ticks.reduce((sum, tick) => sum + tick.lengthMs, 0) / 1000
  const rate = (name: Fate | 'due'): number =>
    lengthS === 0 ? 0 : ticks.reduce((sum, { counts }) => sum + counts[name], 0) / lengthS
  const rates = {
    due: rate('due'),
    good: rate('good'),
    late: rate('late'),
    refused: rate('refused'),
    lost: rate('lost'),
  }
  return { ...rates, ...tailOf(ticks), state: state ?? stateOf(rates, capacity) }
}

function tailOf(ticks: readonly Counted[]): Pick<Figures, 'p99Ms' | 'ownMs'> {
  const merged = (of: 'measured' | 'clean'): Histogram =>
    Histogram.merged(ticks.map(({ counts }) => Histogram.fromJSON(counts[of])))
  const measured = merged('measured')
  if (measured.count === 0) return { p99Ms: null, ownMs: null }
  const clean = merged('clean')
  const own = MEDIAN_AND_P99.map(figure =>
    doubtedMs(figure, [figure.read(clean), figure.read(measured)], measured.count),
  )
  return { p99Ms: measured.percentile(99), ownMs: Math.max(...own) || null }
}

/** The state depends on goodput as a share of min(offered, capacity), as the verdict of the report does. */
export function stateOf({ due, good }: Readonly<Record<'due' | 'good', number>>, capacity: number): State {
  if (due === 0) return 'waits'
  const tone = toneOf(keptOf({ goodput: good, offered: due, ofCapacity: good / capacity }))
  if (tone === 'good') return toneOf(good / due) === 'good' ? 'keeps-up' : 'full'
  return tone === 'fair' ? 'strains' : 'melts'
}
