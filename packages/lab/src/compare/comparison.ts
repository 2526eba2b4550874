/**
 * Decides which differences between two sides are real, over rounds in which both ran. Pure.
 *
 * Each round gives one difference: for goodput and latencies the logarithm of the ratio B / A, so that half and double
 * are equally far apart; for errors the difference of the shares. Their trimmed mean has an interval
 * (trimmed-interval.ts). All intervals hold together with {@link CONFIDENCE} (Bonferroni's inequality; Dunn, "Multiple
 * comparisons among means", JASA 56, 1961). A difference is real if its interval excludes zero. If it includes zero,
 * but is narrow enough that a difference of {@link TOLERANCE} would exclude zero, the verdict is "no difference seen".
 *
 * The real change lies between the change as measured and the change without the generator's delay, so the interval
 * covers both.
 */
import { median } from '../report/number-stats.ts'
import { FIGURES, type FigureKind, type FigureName, type ReadRun } from './figures.ts'
import { FEWEST, trimmedInterval } from './trimmed-interval.ts'

/** Confidence that no figure is called different by chance: at most two comparisons in a hundred contain an error. */
export const CONFIDENCE = 0.98

/** Relative width of the histogram buckets of latencies (load/histogram.ts): a smaller change counts as none. */
const RESOLUTION = 1 / 128

/** Smaller changes count as no difference. For errors, a share of the requests. */
const TOLERANCE = 0.05
const TOLERATED_ERRORS = 0.01

/** Lateness is mentioned if it adds more than this share to the width of the interval. */
const BLURRED = 0.5

/** Added to both sides (a rate, or ms), because zero has no logarithm; too small to matter. */
const LEAST = 0.001

export interface Round {
  readonly a: ReadRun
  readonly b: ReadRun
}

export type FigureVerdict = 'better' | 'worse' | 'no difference seen' | 'undecided' | 'cannot tell'

export interface ComparedFigure extends FigureKind {
  /** Median over the rounds; null if a result does not contain it. */
  readonly a: number | null
  readonly b: number | null
  /** B / A - 1; for errors, B - A. Null if unknown. */
  readonly change: number | null
  /** Lower and upper bound of the change; null with too few rounds. */
  readonly interval: readonly [low: number, high: number] | null
  /** Changes up to this size, in either direction, would not have shown; null with too few rounds. */
  readonly hides: number | null
  readonly verdict: FigureVerdict
  /** True if the generator's lateness makes the interval more than half as wide again. */
  readonly blurred: boolean
}

export function comparedFigures(rounds: readonly Round[], tolerance: number = TOLERANCE): ComparedFigure[] {
  const isKnown = ({ name }: FigureKind): boolean =>
    rounds.length > 0 && rounds.every(({ a, b }) => a.measured[name] !== null && b.measured[name] !== null)
  const confidence = 1 - (1 - CONFIDENCE) / FIGURES.filter(isKnown).length
  return FIGURES.map(figure => {
    const { name, unit } = figure
    const nothing = {
      ...figure,
      a: middleOf(rounds, 'a', name),
      b: middleOf(rounds, 'b', name),
      blurred: false,
      change: null,
      interval: null,
      hides: null,
      verdict: 'cannot tell',
    } as const
    if (!isKnown(figure)) return nothing
    const changes = (which: keyof ReadRun): number[] =>
      rounds.map(({ a, b }) => changeOf(figure, a[which][name]!, b[which][name]!))
    const read = (value: number): number => (unit === 'share' ? value : Math.exp(value) - 1)
    if (rounds.length < FEWEST) return { ...nothing, change: read(median(changes('measured'))!) }
    const measured = trimmedInterval(changes('measured'), confidence)
    const clean = changes('clean')
    const moved = changes('measured').map((each, at) => clean[at]! - each)
    const byMost = trimmedInterval(moved, confidence).middle
    const [low, high] = [measured.low + Math.min(0, byMost), measured.high + Math.max(0, byMost)]
    const blurred = Math.abs(byMost) > Math.max(RESOLUTION, BLURRED * (measured.high - measured.low))
    const change = read(measured.middle)
    const interval = [read(low), read(high)] as const
    const hides = read((high - low) / 2)
    const isCoarse = hides > (unit === 'share' ? TOLERATED_ERRORS : tolerance)
    const verdict = verdictOf(figure, change, interval) ?? (isCoarse ? 'undecided' : 'no difference seen')
    return { ...nothing, change, interval, hides, blurred, verdict }
  })
}

function changeOf({ unit }: FigureKind, a: number, b: number): number {
  if (unit === 'share') return b - a
  return Math.log((b + LEAST) / (a + LEAST))
}

function verdictOf(
  { better, unit }: FigureKind,
  change: number,
  [low, high]: readonly [number, number],
): 'better' | 'worse' | undefined {
  if (low <= 0 && high >= 0) return undefined
  if (unit !== 'share' && Math.abs(change) < RESOLUTION) return undefined
  return change > 0 === (better === 'more') ? 'better' : 'worse'
}

/**
 * True if more rounds would not help. The first difference is no reason to stop: with enough rounds, chance produces
 * a difference between any two sides.
 */
export const isDecided = (figures: readonly ComparedFigure[]): boolean =>
  figures.every(({ verdict, change, hides }) => {
    if (verdict === 'no difference seen' || verdict === 'cannot tell')
      return verdict !== 'cannot tell' || change === null
    return verdict !== 'undecided' && Math.abs(change!) > 2 * hides!
  })

const middleOf = (rounds: readonly Round[], side: 'a' | 'b', name: FigureName): number | null =>
  median(rounds.flatMap(round => round[side].measured[name] ?? []))
