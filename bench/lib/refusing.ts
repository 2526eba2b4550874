/** Origins that refuse excess calls (bench/adaptive.ts): the cases, their runs, and their section of the page. */
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { median } from '../../packages/lab/src/melt/summary.ts'

const WARM_S = 2
const FOR_S = 6
/** The fixed limits that are compared. */
const FIXED = ['1', '2', '4', '8', '16', '32']

type Plan = readonly (readonly [seconds: number, perSecond: number])[]

interface Case {
  readonly what: string
  /** Name of the case in refusing-dependency.mjs. */
  readonly name: string
  readonly plan: Plan
  readonly callers?: number
  readonly paths?: readonly string[]
  /** Only good answers to this path count. */
  readonly counted?: string
  /** Good answers count from this time on, s. */
  readonly fromS?: number
  readonly heldOut?: true
}

const overload = (times: number): Plan => [
  [WARM_S, 25],
  [FOR_S, 50 * times],
]

const CASES: Readonly<Record<string, Case>> = {
  '3x': { name: 'overload', plan: overload(3), what: '150 calls/s' },
  '5x': { name: 'overload', plan: overload(5), what: '250 calls/s' },
  '9x': { name: 'overload', plan: overload(9), what: '450 calls/s' },
  'several callers': {
    name: 'overload',
    plan: overload(2.25),
    callers: 4,
    what: 'four processes with 112 calls/s each',
  },
  'slow refusals': { name: 'slow refusals', plan: overload(9), what: '450 calls/s; a refusal takes 1 s' },
  'no queue': { name: 'no queue', plan: overload(9), what: '450 calls/s; all but one are refused at any time' },
  'comes back': {
    name: 'comes back',
    plan: [[10, 40]],
    fromS: 6,
    what: '40 calls/s; it refuses all for 6 s. Good answers from then on, within 4 s',
  },
  'one route': {
    name: 'one route',
    plan: [
      [WARM_S, 80],
      [FOR_S, 80],
    ],
    paths: ['/work', '/quota'],
    counted: '/work',
    what: '80 calls/s; half of them to a route that answers 429. Good answers of the other',
  },
  'rate quota': {
    name: 'rate quota',
    plan: overload(9),
    what: '450 calls/s; 50/s are served in 2 ms, the others get 429 at once',
  },
  'by chance': {
    name: 'by chance',
    plan: overload(3),
    what: '150 calls/s; half are refused by chance, however few there are',
  },
  'quota of a second': {
    name: 'quota of a second',
    plan: overload(5),
    heldOut: true,
    what: '250 calls/s; the first 50 of each second are served',
  },
  grows: {
    name: 'grows',
    plan: [[10, 300]],
    heldOut: true,
    what: '300 calls/s; 25/s can be answered at first, twice as many every 2 s, up to 400/s',
  },
  'uneven work': {
    name: 'uneven work',
    plan: overload(5),
    heldOut: true,
    what: '250 calls/s; work takes 20 ms on average, exponential',
  },
  'many routes': {
    name: 'many routes',
    plan: overload(9),
    paths: Array.from({ length: 60 }, (_, i) => `/${'abcdefghij'[i % 10]}/${'klmnop'[Math.floor(i / 10)]}/*`),
    heldOut: true,
    what: '450 calls/s to 60 routes, with ids',
  },
  flapping: {
    name: 'flapping',
    plan: [[8, 40]],
    fromS: WARM_S,
    heldOut: true,
    what: '40 calls/s; it refuses all for 0.7 s of every 2 s',
  },
  'one of three instances': {
    name: 'one of three instances',
    plan: [
      [WARM_S, 40],
      [FOR_S, 40],
    ],
    heldOut: true,
    what: '40 calls/s; one of three instances refuses all',
  },
  bursts: {
    name: 'bursts',
    plan: [
      [2, 25],
      [1, 450],
      [1, 25],
      [1, 450],
      [1, 25],
      [1, 450],
      [1, 25],
    ],
    heldOut: true,
    what: '25 and 450 calls/s by turns, 1 s each',
  },
}

/** Good answers per second. */
export interface RefusingResult {
  readonly bare: number
  readonly adaptive: number
  readonly fixed: Readonly<Record<string, number>>
}

export const REFUSING: readonly string[] = Object.keys(CASES)

export async function measureRefusing(name: string, rounds: number): Promise<RefusingResult> {
  const found: Record<string, number[]> = {}
  for (let round = 0; round < rounds; round++) {
    for (const arm of ['bare', ...FIXED, 'adaptive']) {
      const goodput = await measured(CASES[name]!, arm)
      found[arm] = [...(found[arm] ?? []), goodput]
      console.log(name, arm, goodput.toFixed(1))
    }
  }
  const of = (arm: string): number => Number(median(found[arm]!)!.toFixed(1))
  return { bare: of('bare'), adaptive: of('adaptive'), fixed: Object.fromEntries(FIXED.map(arm => [arm, of(arm)])) }
}

async function measured(
  { name, plan, callers = 1, paths = ['/work'], counted, fromS = WARM_S }: Case,
  arm: string,
): Promise<number> {
  const dependency = fork(join(import.meta.dirname, 'refusing-dependency.mjs'), [name])
  try {
    const [{ port }] = (await once(dependency, 'message')) as [{ port: number }]
    const args = [
      join(import.meta.dirname, 'refusing-caller.mjs'),
      arm,
      `http://127.0.0.1:${port}`,
      JSON.stringify(plan),
      JSON.stringify(paths),
    ]
    const run = (): Promise<{ stdout: string }> => promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 })
    const outputs = await Promise.all(Array.from({ length: callers }, run))
    const good = outputs.flatMap(({ stdout }) => JSON.parse(stdout) as [number, string][])
    const untilS = plan.reduce((sum, [seconds]) => sum + seconds, 0)
    const counts = good.filter(
      ([atMs, path]) => atMs >= fromS * 1000 && atMs < untilS * 1000 && (counted ?? path) === path,
    )
    return counts.length / (untilS - fromS)
  } finally {
    dependency.kill()
  }
}

export function refusingSection(results: Readonly<Record<string, RefusingResult>>): string {
  const rows = (heldOut: boolean): string =>
    Object.entries(results)
      .filter(([name]) => (CASES[name]?.heldOut === true) === heldOut)
      .map(([name, { bare, adaptive, fixed }]) => {
        const [limit, best] = Object.entries(fixed).reduce((a, b) => (b[1] > a[1] ? b : a))
        const share = Math.round((100 * adaptive) / best)
        return `| **${name}**: ${CASES[name]!.what} | ${bare.toFixed(1)}/s | ${best.toFixed(1)}/s (${limit}) | ${adaptive.toFixed(1)}/s | ${share} % |`
      })
      .join('\n')
  const head = `| case | bare | best \`maxInFlight\` | adaptive | of the best |
| --- | ---: | ---: | ---: | ---: |`
  return `## An origin that refuses

A dependency whose processor needs 20 ms for an answer, 50/s, and 2 ms for a refusal (503), which goes first. It refuses when 8
calls are there, unless the case says otherwise. Good: a 200 within 1 s. The best of the fixed limits
${FIXED.join(', ')} is in brackets: it is not known in advance. Load comes for ${FOR_S} s, after ${WARM_S} s of 25 calls/s.

${head}
${rows(false)}

These were written before anything was tuned, and nothing was changed after their first run:

${head}
${rows(true)}
`
}
