/**
 * What protection costs when nothing is wrong: the server's own CPU per request on hello world, bare and protected,
 * at one fixed rate well below capacity. Rounds alternate; the figure is the median of the rounds' ratios.
 *
 *   node bench/overhead.ts [--rounds 7] [--rate 4000] [--seconds 4]
 *
 * Bar (DESIGN.md): <= 1.05x bare. Writes bench/results/overhead.json.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { conditions } from './lib/conditions.ts'
import { cpuPerRequest, median, startServer } from './lib/measured-server.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    rate: { type: 'string', default: '4000' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '50' },
  },
})
const [rounds, rate, seconds, connections] = [values.rounds, values.rate, values.seconds, values.connections].map(
  Number,
) as [number, number, number, number]
const where = conditions()
const script = join(import.meta.dirname, 'lib/servers.ts')
const figures: { bare: number; protected: number }[] = []
for (let round = 0; round < rounds; round++) {
  const pair: Record<string, number> = {}
  // Whoever goes first changes from round to round, so that a drifting machine favours neither.
  const order = round % 2 === 0 ? ['hello', 'hello-protected'] : ['hello-protected', 'hello']
  for (const name of order) {
    const server = await startServer(script, [name])
    pair[name] = (await cpuPerRequest(server, { rate, seconds, connections })).us
    await server.stop()
  }
  figures.push({ bare: pair['hello']!, protected: pair['hello-protected']! })
  console.log(
    `round ${round + 1}: bare ${pair['hello']!.toFixed(2)} us, protected ${pair['hello-protected']!.toFixed(2)} us, ` +
      `ratio ${(pair['hello-protected']! / pair['hello']!).toFixed(3)}`,
  )
}
const result = {
  ...where,
  rate,
  seconds,
  connections,
  rounds: figures,
  bareUs: median(figures.map(f => f.bare)),
  protectedUs: median(figures.map(f => f.protected)),
  ratio: median(figures.map(f => f.protected / f.bare)),
}
writeFileSync(join(import.meta.dirname, 'results/overhead.json'), `${JSON.stringify(result, null, 2)}\n`)
console.log(
  `median: bare ${result.bareUs.toFixed(2)} us, protected ${result.protectedUs.toFixed(2)} us, ratio ${result.ratio.toFixed(3)} (bar: 1.05)`,
)
process.exit()
