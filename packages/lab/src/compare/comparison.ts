/**
 * Which differences between two things are real, over rounds in which both ran. Pure.
 *
 * Both runs of a round make one difference: of goodput and latencies the ratio B / A (its logarithm, so that half and double
 * are as far from one another), of errors the difference of the shares. Around the trimmed mean of these lies an interval
 * (trimmed-interval.ts). All intervals together hold with {@link CONFIDENCE}: each is as much wider as there are more of them
 * (Bonferroni's inequality; Dunn, "Multiple comparisons among means", JASA 56, 1961). A difference is real when its interval
 * does not hold "none".
 */
import { FIGURES, type FigureKind, type FigureName, type RunFigures } from './figures.ts'
import { FEWEST, trimmedInterval } from './trimmed-interval.ts'

/** That no figure is called different when nothing is: two comparisons of a hundred may be wrong somewhere. */
export const CONFIDENCE = 0.98

/** A latency is known to a bucket of its histogram (load/histogram.ts), and goodput changes with it. */
const RESOLUTION = 1 / 128

/** Of a rate or of milliseconds: added to both sides, because nothing at all has no logarithm, and too little to matter. */
const LEAST = 0.001

export interface Round {
  readonly a: RunFigures
  readonly b: RunFigures
  /** Figures of which one or the other is the generator's. */
  readonly late: readonly FigureName[]
}

export type FigureVerdict = 'better' | 'worse' | 'no difference seen' | 'cannot tell'

export interface ComparedFigure extends FigureKind {
  /** In the middle of the rounds; null where a result does not say it. */
  readonly a: number | null
  readonly b: number | null
  /** B / A - 1; of errors, B - A. Null where it can not be said. */
  readonly change: number | null
  /** The least and the most that the change may be; null where rounds are too few. */
  readonly interval: readonly [low: number, high: number] | null
  readonly verdict: FigureVerdict
  /** That it rests on: those in which the figure is the server's. */
  readonly rounds: number
}

export function comparedFigures(rounds: readonly Round[]): ComparedFigure[] {
  const timely = FIGURES.map(figure => ({ figure, used: rounds.filter(({ late }) => !late.includes(figure.name)) }))
  const isKnown = ({ figure: { name }, used }: (typeof timely)[number]): boolean =>
    used.length > 0 && used.every(({ a, b }) => a[name] !== null && b[name] !== null)
  const judged = timely.filter(each => isKnown(each) && each.used.length >= FEWEST).length
  const confidence = 1 - (1 - CONFIDENCE) / judged
  return timely.map(each => {
    const { figure, used } = each
    const middles = { a: middleOf(used, 'a', figure.name), b: middleOf(used, 'b', figure.name), rounds: used.length }
    const nothing = { ...figure, ...middles, change: null, interval: null, verdict: 'cannot tell' } as const
    if (!isKnown(each)) return nothing
    const changes = used.map(({ a, b }) => changeOf(figure, a[figure.name]!, b[figure.name]!))
    const read = (value: number): number => (figure.unit === 'share' ? value : Math.exp(value) - 1)
    if (used.length < FEWEST) return { ...nothing, change: read(median(changes)) }
    const { middle, low, high } = trimmedInterval(changes, confidence)
    const change = read(middle)
    const interval = [read(low), read(high)] as const
    return { ...figure, ...middles, change, interval, verdict: verdictOf(figure, change, interval) }
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
): FigureVerdict {
  if (low <= 0 && high >= 0) return 'no difference seen'
  if (unit !== 'share' && Math.abs(change) < RESOLUTION) return 'no difference seen'
  return change > 0 === (better === 'more') ? 'better' : 'worse'
}

function middleOf(rounds: readonly Round[], side: 'a' | 'b', name: FigureName): number | null {
  const values = rounds.flatMap(round => round[side][name] ?? [])
  return values.length === 0 ? null : median(values)
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) / 2
  return (sorted[Math.floor(at)]! + sorted[Math.ceil(at)]!) / 2
}
