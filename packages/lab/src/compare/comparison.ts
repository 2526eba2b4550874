/**
 * Which differences between two things are real, over rounds in which both ran. Pure.
 *
 * Both runs of a round make one difference: of goodput and latencies the ratio B / A (its logarithm, so that half and double
 * are as far from one another), of errors the difference of the shares. Around the trimmed mean of these lies an interval
 * (trimmed-interval.ts). All intervals together hold with {@link CONFIDENCE}: each is as much wider as there are more of them
 * (Bonferroni's inequality; Dunn, "Multiple comparisons among means", JASA 56, 1961). A difference is real when its interval
 * does not hold "none". There is none only where one of {@link TOLERANCE} would have shown; elsewhere it is undecided.
 *
 * The generator may have been late. The server's own figure lies between that as measured and that without the generator's own
 * delay, at most; so the change that the server made lies between the changes of both, and the interval reaches that far.
 */
import { FIGURES, type FigureKind, type FigureName, type ReadRun } from './figures.ts'
import { FEWEST, trimmedInterval } from './trimmed-interval.ts'

/** That no figure is called different when nothing is: two comparisons of a hundred may be wrong somewhere. */
export const CONFIDENCE = 0.98

/** A latency is known to a bucket of its histogram (load/histogram.ts), and goodput changes with it. */
const RESOLUTION = 1 / 128

/** A change that is smaller than this need not show for there to be no difference. Of errors, a share of the requests. */
export const TOLERANCE = 0.05
const TOLERATED_ERRORS = 0.01

/** Share of the interval that lateness has to add before it is worth a word. */
const BLURRED = 0.5

/** Of a rate or of milliseconds: added to both sides, because nothing at all has no logarithm, and too little to matter. */
const LEAST = 0.001

export interface Round {
  readonly a: ReadRun
  readonly b: ReadRun
}

export type FigureVerdict = 'better' | 'worse' | 'no difference seen' | 'undecided' | 'cannot tell'

export interface ComparedFigure extends FigureKind {
  /** In the middle of the rounds; null where a result does not say it. */
  readonly a: number | null
  readonly b: number | null
  /** B / A - 1; of errors, B - A. Null where it can not be said. */
  readonly change: number | null
  /** The least and the most that the change may be; null where rounds are too few. */
  readonly interval: readonly [low: number, high: number] | null
  /** Changes up to this, either way, would not have shown; null where rounds are too few. */
  readonly hides: number | null
  readonly verdict: FigureVerdict
  /** The generator's own lateness makes the interval at least half as wide again. */
  readonly blurred: boolean
}

export function comparedFigures(rounds: readonly Round[], tolerance: number = TOLERANCE): ComparedFigure[] {
  const isKnown = ({ name }: FigureKind): boolean =>
    rounds.length > 0 && rounds.every(({ a, b }) => a.measured[name] !== null && b.measured[name] !== null)
  const confidence = 1 - (1 - CONFIDENCE) / FIGURES.filter(isKnown).length
  return FIGURES.map(figure => {
    const { name, unit } = figure
    const middles = { a: middleOf(rounds, 'a', name), b: middleOf(rounds, 'b', name), blurred: false }
    const nothing = {
      ...figure,
      ...middles,
      change: null,
      interval: null,
      hides: null,
      verdict: 'cannot tell',
    } as const
    if (!isKnown(figure)) return nothing
    const changes = (which: keyof ReadRun): number[] =>
      rounds.map(({ a, b }) => changeOf(figure, a[which][name]!, b[which][name]!))
    const read = (value: number): number => (unit === 'share' ? value : Math.exp(value) - 1)
    if (rounds.length < FEWEST) return { ...nothing, change: read(median(changes('measured'))) }
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
    return { ...figure, ...middles, change, interval, hides, blurred, verdict }
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
 * Whether more rounds would make nothing plainer: each figure is known to the tolerance, or differs by far more than its
 * interval is wide. Ending as soon as a difference shows would find one in everything that is looked at often enough.
 */
export const isPlain = (figures: readonly ComparedFigure[]): boolean =>
  figures.every(({ verdict, change, hides }) => {
    if (verdict === 'no difference seen' || verdict === 'cannot tell')
      return verdict !== 'cannot tell' || change === null
    return verdict !== 'undecided' && Math.abs(change!) > 2 * hides!
  })

function middleOf(rounds: readonly Round[], side: 'a' | 'b', name: FigureName): number | null {
  const values = rounds.flatMap(round => round[side].measured[name] ?? [])
  return values.length === 0 ? null : median(values)
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) / 2
  return (sorted[Math.floor(at)]! + sorted[Math.ceil(at)]!) / 2
}
