/** Two sides, each with its results: paired into rounds, or refused. Pure. */
import { UserError } from '../user-error.ts'
import { remarksOn, type Result, whyNotComparable } from './comparable.ts'
import { CONFIDENCE, type ComparedFigure, comparedFigures } from './comparison.ts'
import { FEWEST } from './trimmed-interval.ts'

export interface Side {
  /** As the user named it: a file, a folder, a command or a URL. */
  readonly name: string
  readonly results: readonly Result[]
}

/** What `meltlab compare --json` prints. */
export interface Comparison {
  readonly kind: 'comparison'
  readonly version: 1
  readonly a: string
  readonly b: string
  /** That were compared. */
  readonly rounds: number
  /** Rounds that do not count, and why. */
  readonly leftOut: readonly string[]
  /** That all intervals together hold with, 0..1. */
  readonly confidence: number
  readonly figures: readonly ComparedFigure[]
  /** What the reader should know. */
  readonly remarks: readonly string[]
}

/** @throws UserError for what can not be compared */
export function compare(a: Side, b: Side): Comparison {
  const all = [...a.results, ...b.results]
  const reasons = whyNotComparable(all)
  if (reasons.length > 0) throw new UserError(`these results can not be compared: ${reasons.join('; ')}`)
  if (a.results.length !== b.results.length) {
    throw new UserError(
      `rounds are compared in pairs, but ${a.name} has ${a.results.length} results and ${b.name} ${b.results.length}`,
    )
  }
  const pairs = inOrder(a).map((result, at) => [result, inOrder(b)[at]!] as const)
  const doubtful = pairs.map(pair => pair.find(({ document }) => document?.certified === false))
  const leftOut = doubtful.flatMap((result, at) => (result === undefined ? [] : `round ${at + 1}: ${doubtOf(result)}`))
  const rounds = pairs.filter((_, at) => doubtful[at] === undefined)
  if (leftOut.length > 0 && rounds.length < FEWEST) {
    const first = doubtful.find(result => result !== undefined)!
    throw new UserError(
      `of ${plural(pairs.length, 'round')} ${leftOut.length} can not be trusted, and it takes ${FEWEST} that can; ${leftOut[0]}: ${first.document!.why[0] ?? 'no reason is given'}`,
    )
  }
  return {
    kind: 'comparison',
    version: 1,
    a: a.name,
    b: b.name,
    rounds: rounds.length,
    leftOut,
    confidence: CONFIDENCE,
    figures: comparedFigures(rounds.map(([one, other]) => ({ a: one.figures, b: other.figures }))),
    remarks: [...tooFew(rounds.length), ...order(rounds), ...remarksOn(all)],
  }
}

/** By the time at which they began, where that is known. */
function inOrder({ results }: Side): Result[] {
  return results.toSorted((one, other) => (one.startedAt ?? '').localeCompare(other.startedAt ?? ''))
}

function doubtOf({ name, document }: Result): string {
  return `${name} is not certified (${document!.certificate.code})`
}

function tooFew(rounds: number): string[] {
  if (rounds >= FEWEST) return []
  return [
    `${rounds === 1 ? 'One run of each can not tell' : `${rounds} runs of each can not tell`} a difference from chance: what two runs of the very same thing differ by is not known. Give at least ${FEWEST} a side, or --a, --b and --rounds.`,
  ]
}

/** Only rounds in turns keep apart what A and B do and what the machine did meanwhile. */
function order(rounds: readonly (readonly [Result, Result])[]): string[] {
  if (rounds.length < FEWEST) return []
  const times = rounds.map(pair => pair.map(({ startedAt }) => startedAt))
  if (times.flat().includes(null)) {
    return [
      'When the runs were made is not said: if not in turns, what changed on the machine meanwhile counts as well.',
    ]
  }
  const known = times as string[][]
  const turns = known.every((pair, at) => at === 0 || known[at - 1]!.toSorted()[1]! <= pair.toSorted()[0]!)
  return turns ? [] : ['A and B did not run in turns: what changed on the machine meanwhile counts as a difference.']
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
