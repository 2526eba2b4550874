/** Rounds with the given figures. */
import type { Result } from '../../src/compare/comparable.ts'
import { resultOf } from '../../src/compare/comparable.ts'
import type { Side } from '../../src/compare/compare.ts'
import { type Made, madeAttack } from '../results/made-attack.ts'

/** A run of a side, started at this minute, so that two sides can be interleaved. */
export function madeResult(name: string, minute: number, made: Made = {}): Result {
  const startedAt = new Date(Date.UTC(2026, 10, 23, 10, minute)).toISOString()
  return resultOf(name, madeAttack({ ...made, origin: { startedAt, ...made.origin } }))
}

/** Alternating sides (A B, B A, ...) with the latencies of each run. */
export function inTurns(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): [Side, Side] {
  const side = (name: string, first: boolean, all: readonly (readonly number[])[]): Side => ({
    name,
    results: all.map((okMs, round) =>
      madeResult(`${name} ${round + 1}`, 2 * round + (first === (round % 2 === 0) ? 0 : 1), { okMs }),
    ),
  })
  return [side('A', true, a), side('B', false, b)]
}
