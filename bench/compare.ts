/**
 * Checks how often `meltlab compare` reports a difference between equal programs, and how often it detects that one
 * program is 5 % slower.
 *
 *   node bench/compare.ts [rounds]             simulates machines with assumed noise; on each, a hundred times compares
 *                                              a program with itself, and a hundred times with a 5 % slower one
 *   node bench/compare.ts --real [minutes]     the same with a real server on this machine, in blocks of 10 and of 20
 *                                              rounds, until the time is up
 *
 * Exit code 1 if more than 5 of 100 comparisons of a program with itself show any difference, or if fewer than 9 in 10
 * of the changes of 5 % are found. The latter applies to simulated machines with `mustFind` and to real blocks of 20.
 */
import { resultOf } from '../packages/lab/src/compare/comparable.ts'
import { type Comparison, compare, type Side } from '../packages/lab/src/compare/compare.ts'
import type { ComparedFigure } from '../packages/lab/src/compare/comparison.ts'
import { seededRandom } from '../packages/lab/src/load/random.ts'
import { conditions } from './lib/conditions.ts'
import { LOAD, measureTurns, sideOf } from './lib/measured-turns.ts'
import { type Noise, SimulatedMachine } from './lib/simulated-run.ts'

const COMPARISONS = 100
const MOST_FALSE = 0.05
const LEAST_FOUND = 0.9

/** Assumed scatter from run to run. `--real` measures the scatter of this machine. */
const MACHINES: readonly (Noise & { readonly mustFind: boolean })[] = [
  { name: 'quiet', scatter: 0.01, disturbed: 0, drift: 0, memory: 0.9, mustFind: true },
  { name: 'usual', scatter: 0.015, disturbed: 0.05, drift: 0, memory: 0.9, mustFind: true },
  { name: 'drifting', scatter: 0.015, disturbed: 0.05, drift: 0.01, memory: 0.9, mustFind: true },
  { name: 'disturbed', scatter: 0.015, disturbed: 0.2, drift: 0, memory: 0.9, mustFind: false },
  { name: 'restless', scatter: 0.05, disturbed: 0.1, drift: 0, memory: 0.5, mustFind: false },
]

const HEAD = ['', 'comparisons', 'any figure', 'p50', 'refused']

const real = process.argv[2] === '--real'
const given = Number(process.argv[real ? 3 : 2] ?? (real ? 6 : 20))
if (!(given >= (real ? 0.1 : 5)) || !(real || Number.isInteger(given))) {
  console.error(
    `expected ${real ? 'minutes' : 'rounds, a whole number of at least 5'}, got ${process.argv[real ? 3 : 2]}`,
  )
  process.exit(2)
}
if (real) await onThisMachine(given)
else simulated(given)

function simulated(rounds: number): void {
  const random = seededRandom(1)
  console.log(`${rounds} rounds each, on made-up machines; in how many comparisons a difference was seen`)
  row(HEAD)
  for (const { mustFind, ...noise } of MACHINES) {
    const compared = (slower: number): Comparison[] =>
      Array.from({ length: COMPARISONS }, () => compareSimulated(noise, slower, rounds, random))
    judge(`${noise.name}, itself`, compared(1), { most: MOST_FALSE })
    judge(`${noise.name}, 5 % slower`, compared(1.05), mustFind ? { least: LEAST_FOUND } : {})
  }
}

/** Alternates the sides from round to round, like `compare --a --b`. */
function compareSimulated(noise: Noise, slower: number, rounds: number, random: () => number): Comparison {
  const machine = new SimulatedMachine(noise, random)
  const results: { a: ReturnType<typeof resultOf>[]; b: ReturnType<typeof resultOf>[] } = { a: [], b: [] }
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? (['a', 'b'] as const) : (['b', 'a'] as const)) {
      results[side].push(resultOf(`${side} ${round}`, machine.run(side === 'a' ? 1 : slower)))
    }
  }
  return compare({ name: 'A', results: results.a }, { name: 'B', results: results.b })
}

/** Each round runs one program twice, and once 5 % slower. Then compares blocks of 10 rounds, and of 20. */
async function onThisMachine(minutes: number): Promise<void> {
  const { node, cpu, cores, kernel, loadBefore } = conditions()
  const [same, again, slower] = await measureTurns([1, 1, 1.05] as const, Date.now() + minutes * 60_000)
  const { users, durationMs } = LOAD.load as { readonly users: number; readonly durationMs: number }
  console.log(`Node ${node}, ${cpu}, ${cores} cores, Linux ${kernel}; load average before ${loadBefore}`)
  console.log(`${same.length} rounds of three runs, each on a server started anew: ${users} users, ${durationMs} ms`)
  const medians = [same, again].flatMap(arm =>
    sideOf('', arm, 0, arm.length).results.map(run => run.figures.measured.p50!),
  )
  console.log(`scatter of p50 from run to run (half the middle 68 %): ${percent(scatterOf(medians))}`)
  console.log('in how many comparisons a difference was seen')
  row(HEAD)
  for (const rounds of [10, 20]) {
    judge(`itself, ${rounds} rounds`, blocks(same, again, rounds), { most: MOST_FALSE })
    judge(`5 % slower, ${rounds} rounds`, blocks(same, slower, rounds), rounds === 20 ? { least: LEAST_FOUND } : {})
  }
}

type Documents = Parameters<typeof sideOf>[1]

/** Undefined for a comparison that was refused. */
function blocks(a: Documents, b: Documents, rounds: number): (Comparison | undefined)[] {
  return Array.from({ length: Math.floor(Math.min(a.length, b.length) / rounds) }, (_, block) => {
    const side = (name: string, of: Documents): Side => sideOf(name, of, block * rounds, rounds)
    try {
      return compare(side('A', a), side('B', b))
    } catch (error) {
      console.log((error as Error).message)
      return undefined
    }
  })
}

interface Bar {
  readonly most?: number
  readonly least?: number
}

function judge(name: string, comparisons: readonly (Comparison | undefined)[], { most, least }: Bar): void {
  const made = comparisons.filter(each => each !== undefined)
  const real = made.filter(({ figures }) => figures.some(isReal)).length
  const p50 = made.filter(({ figures }) => figures.some(figure => figure.name === 'p50' && isReal(figure))).length
  row([name, ...[made.length, real, p50, comparisons.length - made.length].map(String)])
  if (most !== undefined && real > Math.max(most * made.length, 1)) process.exitCode = 1
  if (least !== undefined && p50 < Math.floor(least * comparisons.length)) process.exitCode = 1
}

function isReal({ verdict }: ComparedFigure): boolean {
  return verdict === 'better' || verdict === 'worse'
}

/** Half the width of the middle 68 % as a share of the median: for a normal distribution, the standard deviation. */
function scatterOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))]!
  return (at(0.84) - at(0.16)) / 2 / at(0.5)
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

function row([name, ...cells]: readonly string[]): void {
  console.log(name!.padEnd(24) + cells.map(cell => cell.padStart(13)).join(''))
}
