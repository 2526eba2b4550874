/** Pairs the results of two sides into rounds, or rejects them. Pure. */
import { formatList } from '../report/format.ts'
import { UserError } from '../user-error.ts'
import type { DoubtCode } from '../load/plan.ts'
import { plural } from '../words.ts'
import { remarksOn, type Result, whyNotComparable } from './comparable.ts'
import { CONFIDENCE, type ComparedFigure, comparedFigures } from './comparison.ts'
import { FEWEST } from './trimmed-interval.ts'

export interface Side {
  /** The user's name for the side: a file, a folder, a command or a URL. */
  readonly name: string
  readonly results: readonly Result[]
}

/** The output of `meltlab compare --json`. */
export interface Comparison {
  readonly kind: 'comparison'
  readonly version: 1
  readonly a: string
  readonly b: string
  readonly rounds: number
  /** Rounds that do not count, with the reason. */
  readonly leftOut: readonly string[]
  /** Probability that all intervals hold together, 0..1. */
  readonly confidence: number
  readonly figures: readonly ComparedFigure[]
  readonly remarks: readonly string[]
}

export function compare(a: Side, b: Side, tolerance?: number): Comparison {
  const all = [...a.results, ...b.results]
  checkRuns(all)
  const reasons = whyNotComparable(all)
  if (reasons.length > 0) {
    throw new UserError(
      `these results cannot be compared: ${reasons.join('; ')}. Measure both with the same load on the same machine; \`meltlab compare --a … --b …\` does this`,
    )
  }
  if (a.results.length !== b.results.length) {
    throw new UserError(
      `rounds are compared in pairs, but ${a.name} has ${plural(a.results.length, 'result')} and ${b.name} ${b.results.length}; remove those without a partner`,
    )
  }
  const pairs = inOrder(a).map((result, at) => [result, inOrder(b)[at]!] as const)
  const doubtful = pairs.map(pair => pair.find(result => doubtOf(result) !== undefined))
  const leftOut = doubtful.flatMap((result, at) =>
    result === undefined ? [] : `round ${at + 1}: ${result.name} is not certified (${doubtOf(result)})`,
  )
  const rounds = pairs.filter((_, at) => doubtful[at] === undefined)
  if (leftOut.length > 0 && rounds.length < FEWEST) {
    const { document } = doubtful.find(result => result !== undefined)!
    throw new UserError(
      `of ${plural(pairs.length, 'round')} ${leftOut.length} are unreliable, and at least ${FEWEST} reliable ones are needed; ${leftOut[0]}: ${document.why.join(' ')} Fix that, or measure a smaller load: --rate, or fewer --users.`,
    )
  }
  const figures = comparedFigures(
    rounds.map(([one, other]) => ({ a: one.figures, b: other.figures })),
    tolerance,
  )
  return {
    kind: 'comparison',
    version: 1,
    a: a.name,
    b: b.name,
    rounds: rounds.length,
    leftOut,
    confidence: CONFIDENCE,
    figures,
    remarks: [...tooFew(rounds.length), ...lateness(figures, rounds), ...order(rounds), ...remarksOn(all)],
  }
}

function checkRuns(results: readonly Result[]): void {
  const seen = new Map<string, string>()
  for (const { name, document } of results) {
    for (const run of document.runs) {
      const before = seen.get(run)
      if (before !== undefined) {
        const what =
          before === name
            ? `${name} is given twice, or contains a run twice`
            : `${before} and ${name} contain the same run`
        throw new UserError(`${what}; give results of different runs`)
      }
      seen.set(run, name)
    }
  }
}

function inOrder({ results }: Side): Result[] {
  return results.toSorted((one, other) => startMs(one) - startMs(other))
}

const startMs = ({ document }: Result): number => Date.parse(document.startedAt)

/** The doubt about the whole run. Lateness and freezes are excluded: they widen the intervals of figures instead. */
function doubtOf({ document }: Result): DoubtCode | undefined {
  return document.certificate.doubts.find(code => code !== 'late' && code !== 'frozen')
}

/** Notes where the generator's lateness matters, and why. */
function lateness(figures: readonly ComparedFigure[], rounds: readonly (readonly [Result, Result])[]): string[] {
  const blurred = figures.flatMap(figure => (figure.blurred ? figure.name : []))
  const late = rounds.flat().find(({ document }) => document.certified === false)
  if (blurred.length === 0 || late === undefined) return []
  return [
    `The generator was late, which makes the interval of ${formatList(blurred)} wider. Of ${late.name}: ${late.document.why.join(' ')} End other work on this machine, or measure more rounds.`,
  ]
}

function tooFew(rounds: number): string[] {
  if (rounds >= FEWEST) return []
  return [
    `${rounds === 1 ? 'One run of each cannot tell' : `${rounds} runs of each cannot tell`} a difference from chance: how much two runs of the same program differ is unknown. Give at least ${FEWEST} a side, or --a, --b and --rounds.`,
  ]
}

/** Only alternating rounds separate differences of A and B from changes of the machine. */
function order(rounds: readonly (readonly [Result, Result])[]): string[] {
  const together = rounds.findIndex(([one, other]) => overlap(one, other) || overlap(other, one))
  if (together !== -1) {
    const [one, other] = rounds[together]!
    return [`${one.name} and ${other.name} ran at the same time: each affected the other.`]
  }
  if (rounds.length < FEWEST) return []
  const known = rounds.map(pair => pair.map(startMs).sort((one, other) => one - other))
  const turns = known.every(([start], at) => at === 0 || known[at - 1]![1]! <= start!)
  return turns ? [] : ['A and B did not alternate: changes of the machine count as differences.']
}

function overlap(one: Result, other: Result): boolean {
  const afterMs = startMs(other) - startMs(one)
  return afterMs >= 0 && afterMs < one.document.elapsedMs
}
