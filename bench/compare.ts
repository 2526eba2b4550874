/**
 * Does `meltlab compare` call chance a difference, and does it find one of 5 %? A hundred comparisons of a program with
 * itself, and a hundred with one that is 5 % slower, on made-up machines whose noise is known.
 *
 *   node bench/compare.ts [rounds]
 *
 * Exit code 1 when more than 5 of the 100 comparisons with itself (all machines: each) show any difference, or when of the
 * changes of 5 % fewer than 9 in 10 are found on a machine that scatters as little as ours.
 */
import { resultOf } from '../packages/lab/src/compare/comparable.ts'
import { compare, type Side } from '../packages/lab/src/compare/compare.ts'
import type { ComparedFigure } from '../packages/lab/src/compare/comparison.ts'
import { seededRandom } from '../packages/lab/src/load/random.ts'
import { type Noise, SimulatedMachine } from './lib/simulated-run.ts'

const COMPARISONS = 100
const MOST_FALSE = 5
const LEAST_FOUND = 90

/** Scatter from run to run, as `certified` runs on two otherwise idle cores have it: 0.5 to 1.5 % of p50. */
const MACHINES: readonly (Noise & { readonly mustFind: boolean })[] = [
  { name: 'quiet', scatter: 0.01, disturbed: 0, drift: 0, memory: 0.9, mustFind: true },
  { name: 'usual', scatter: 0.015, disturbed: 0.05, drift: 0, memory: 0.9, mustFind: true },
  { name: 'drifting', scatter: 0.015, disturbed: 0.05, drift: 0.01, memory: 0.9, mustFind: true },
  { name: 'disturbed', scatter: 0.015, disturbed: 0.2, drift: 0, memory: 0.9, mustFind: false },
  { name: 'restless', scatter: 0.05, disturbed: 0.1, drift: 0, memory: 0.5, mustFind: false },
]

const rounds = Number(process.argv[2] ?? 20)
if (!(Number.isInteger(rounds) && rounds >= 5)) {
  console.error(`rounds must be a whole number of at least 5, got ${process.argv[2]}`)
  process.exit(2)
}
const random = seededRandom(1)
console.log(`${COMPARISONS} comparisons of ${rounds} rounds each; p50, all figures together`)
console.log('machine    false alarms  any figure    5 % slower found: p50   any figure')
for (const { mustFind, ...noise } of MACHINES) {
  const same = Array.from({ length: COMPARISONS }, () => compared(noise, 1))
  const slower = Array.from({ length: COMPARISONS }, () => compared(noise, 1.05))
  const alarms = same.flatMap(figures => figures.filter(isReal)).length
  const comparisons = same.filter(figures => figures.some(isReal)).length
  const p50 = slower.filter(figures =>
    figures.some(figure => figure.name === 'p50' && figure.verdict === 'worse'),
  ).length
  const found = slower.filter(figures => figures.some(({ verdict }) => verdict === 'worse')).length
  const cells = [noise.name.padEnd(11), pad(alarms, 12), pad(comparisons, 12), pad(p50, 25), pad(found, 13)]
  console.log(cells.join(''))
  if (alarms > MOST_FALSE || (mustFind && p50 < LEAST_FOUND)) process.exitCode = 1
}

/** Rounds in turns, as `compare --a --b` does them. */
function compared(noise: Noise, slower: number): readonly ComparedFigure[] {
  const machine = new SimulatedMachine(noise, random)
  const a: Side = { name: 'A', results: [] }
  const results = { a: [...a.results], b: [...a.results] }
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? (['a', 'b'] as const) : (['b', 'a'] as const)) {
      results[side].push(resultOf(`${side} ${round}`, machine.run(side === 'a' ? 1 : slower)))
    }
  }
  return compare({ name: 'A', results: results.a }, { name: 'B', results: results.b }).figures
}

function isReal({ verdict }: ComparedFigure): boolean {
  return verdict === 'better' || verdict === 'worse'
}

function pad(count: number, width: number): string {
  return String(count).padStart(width)
}
