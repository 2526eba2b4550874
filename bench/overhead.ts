/**
 * What protection costs when nothing is wrong: the server's own CPU per request, bare and protected, far below capacity.
 * Both run at once and take turns of a second (lib/measured-server.ts); the figure is the median over rounds, each with
 * servers of its own, of the median of its turns' ratios.
 *
 *   node bench/overhead.ts [--rounds 5] [--pairs 10]
 *
 * Bar (DESIGN.md): <= 1.05x bare on hello world. Writes bench/results/overhead.json.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import { median, sideBySide } from './lib/measured-server.ts'

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '5' },
  pairs: { type: 'string', default: '10' },
})
const rounds = options.whole('rounds')
const pairs = options.whole('pairs')
const where = conditions()
const script = join(import.meta.dirname, 'lib/servers.ts')

export interface OverheadCase {
  readonly name: string
  readonly server: string
  readonly rate: number
  readonly connections: number | 'fresh'
  readonly bareUs: number
  readonly protectedUs: number
  readonly ratio: number
  /** Of each round. */
  readonly ratios: readonly number[]
}

const cases: OverheadCase[] = []
for (const { name, server, rate, connections } of [
  { name: 'hello world', server: 'hello', rate: 10_000, connections: 50 },
  {
    name: 'an answer after 5 ms, 3,000 clients who connect every second',
    server: 'soon',
    rate: 6000,
    connections: 3000,
  },
  { name: 'hello world, a connection per request', server: 'hello', rate: 2000, connections: 'fresh' },
] as const) {
  const all: [bare: number, guarded: number, ratio: number][] = []
  for (let round = 0; round < rounds; round++) {
    const turns = await sideBySide(script, [[server], [`${server}-protected`]], { rate, pairs, connections })
    const of = (pick: (turn: readonly [number, number]) => number): number => median(turns.map(pick))
    all.push([of(([bare]) => bare), of(([, guarded]) => guarded), of(([bare, guarded]) => guarded / bare)])
    console.log(
      `${name}, round ${round + 1}: ${all
        .at(-1)!
        .map(value => value.toFixed(3))
        .join(' us, ')}`,
    )
  }
  const [bareUs, protectedUs, ratio] = [0, 1, 2].map(at => median(all.map(each => each[at as 0 | 1 | 2])))
  const ratios = all.map(each => each[2])
  cases.push({ name, server, rate, connections, bareUs: bareUs!, protectedUs: protectedUs!, ratio: ratio!, ratios })
}
writeFileSync(
  join(import.meta.dirname, 'results/overhead.json'),
  `${JSON.stringify({ ...where, rounds, pairs, cases }, null, 2)}\n`,
)
for (const { name, ratio } of cases) console.log(`${name}: ${ratio.toFixed(3)}`)
process.exit()
