/** The figures of the last two seconds of one side, from what the generator counted. Pure. */
import { allowedMs, FIGURES } from '../load/certify.ts'
import { Histogram } from '../load/histogram.ts'
import { keptOf, toneOf } from '../report/standing.ts'
import type { Fate, SideCounts } from './side-counter.ts'

/** Long enough not to flicker, short enough to follow the slider, ms. */
const WINDOW_MS = 2000
/** A side keeps up while it answers this share of what is due in time. */
const KEEPS_UP = 0.97

/** In one word, for whoever sees no colours; `ended` is the process. */
export type State = 'waits' | 'keeps-up' | 'full' | 'strains' | 'melts' | 'ended'

export interface Figures extends Readonly<Record<Fate, number>> {
  readonly due: number
  /** Of answers 2xx and 3xx; null when there was none. */
  readonly p99Ms: number | null
  /** How much of p50 or p99 may be the generator's, where that is more than is certified; else null. */
  readonly ownMs: number | null
  readonly state: State
}

interface Counted {
  readonly lengthMs: number
  readonly counts: SideCounts
}

/** The last of `ticks` that make a window, at least one. */
export function windowOf<T extends { readonly lengthMs: number }>(ticks: readonly T[]): readonly T[] {
  let lengthMs = 0
  let from = ticks.length
  while (from > 0 && lengthMs < WINDOW_MS) lengthMs += ticks[--from]!.lengthMs
  return ticks.slice(from)
}

/** Rates are per second, `capacity` too. */
export function figuresOf(ticks: readonly Counted[], capacity: number, hasEnded: boolean): Figures {
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
  return { ...rates, ...tailOf(ticks), state: hasEnded ? 'ended' : stateOf(rates, capacity) }
}

/** What certification would find in them. */
const JUDGED = FIGURES.filter(({ name }) => name === 'p50' || name === 'p99')

function tailOf(ticks: readonly Counted[]): Pick<Figures, 'p99Ms' | 'ownMs'> {
  const merged = (of: 'measured' | 'clean'): Histogram =>
    Histogram.merged(ticks.map(({ counts }) => Histogram.fromJSON(counts[of])))
  const measured = merged('measured')
  if (measured.count === 0) return { p99Ms: null, ownMs: null }
  const clean = merged('clean')
  const own = JUDGED.flatMap(figure => {
    const value = figure.read(measured)
    const ownMs = value - figure.read(clean)
    return ownMs > allowedMs(figure, value, measured.count) ? [ownMs] : []
  })
  return { p99Ms: measured.percentile(99), ownMs: own.length === 0 ? null : Math.max(...own) }
}

/** The words go by the same share as the report's: of what is possible, and not of what is asked for. */
export function stateOf(
  { due, good, late, refused, lost }: Readonly<Record<Fate | 'due', number>>,
  capacity: number,
): State {
  if (due === 0) return 'waits'
  if (good >= due * KEEPS_UP) return 'keeps-up'
  const tone = toneOf(keptOf({ goodput: good, offered: due, ofCapacity: good / capacity }))
  if (tone === 'bad') return 'melts'
  return tone === 'good' && refused > late + lost ? 'full' : 'strains'
}
