/**
 * What observing costs: the server's own CPU per request on hello world, under protect() alone and with metrics() on
 * top (timelines, verdicts, stall ledger, histograms), at one fixed rate. Both run at once and take turns of a second;
 * the figure is the median over rounds of the median of the turns' ratios. Then the stall ledger alone, on an idle
 * process.
 *
 *   node bench/observed.ts [--rounds 5] [--pairs 10] [--rate 10000]
 *
 * Bars (issue 5): <= 2 % of hello-world throughput; the ledger <= 0.5 % of a core. Writes bench/results/observed.json
 * and docs/benchmarks-observed.md.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { certify } from '../packages/meltproof/dist/signals/events-waiting.js'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import { median, sideBySide, startServer } from './lib/measured-server.ts'

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '5' },
  pairs: { type: 'string', default: '10' },
  rate: { type: 'string', default: '10000' },
})
const rounds = options.whole('rounds')
const pairs = options.whole('pairs')
const rate = options.whole('rate')
const where = conditions()
const script = join(import.meta.dirname, 'lib/observed-server.ts')
const figures: { protected: number; observed: number; ratio: number }[] = []
for (let round = 0; round < rounds; round++) {
  const turns = await sideBySide(script, [['protected'], ['observed']], { rate, pairs, connections: 50 })
  const [bare, watched] = [median(turns.map(turn => turn[0])), median(turns.map(turn => turn[1]))]
  const ratio = median(turns.map(turn => turn[1] / turn[0]))
  figures.push({ protected: bare, observed: watched, ratio })
  console.log(`round ${round + 1}: ${bare.toFixed(2)} us, observed ${watched.toFixed(2)} us, ratio ${ratio.toFixed(3)}`)
}

/** Share of a core that an idle process uses, over six seconds. */
async function idleShare(args: readonly string[]): Promise<number> {
  const server = await startServer(script, args)
  await sleep(1000)
  const before = await server.cpuUs()
  await sleep(6000)
  const used = (await server.cpuUs()) - before
  await server.stop()
  return used / 6e6
}
const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
const idle = await idleShare(['protected'])
const beating = await idleShare(['protected', 'ledger'])

/** CPU of one eventsWaiting certificate, microseconds: turns of the loop with one, against turns without. */
async function certificateUs(): Promise<number> {
  const turns = 50_000
  const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  const used = async (each: () => void): Promise<number> => {
    const before = process.cpuUsage()
    for (let i = 0; i < turns; i++) {
      each()
      await turn()
    }
    const { user, system } = process.cpuUsage(before)
    return (user + system) / turns
  }
  const differences: number[] = []
  for (let round = 0; round < 5; round++) {
    const without = await used(() => undefined)
    differences.push((await used(() => certify(() => undefined))) - without)
  }
  return median(differences)
}

const certificate = await certificateUs()
const result = {
  ...where,
  rate,
  pairs,
  rounds: figures,
  protectedUs: median(figures.map(f => f.protected)),
  observedUs: median(figures.map(f => f.observed)),
  ratio: median(figures.map(f => f.ratio)),
  ledgerShareOfCore: beating - idle,
  certificateUs: certificate,
}
writeFileSync(join(import.meta.dirname, 'results/observed.json'), `${JSON.stringify(result, null, 2)}\n`)
writeFileSync(
  join(import.meta.dirname, '../docs/benchmarks-observed.md'),
  `# What observing costs

Written by \`node bench/observed.ts\`; not by hand. ${where.date}, Node ${where.node}, ${where.cores} cores of ${where.cpu};
load average before: ${where.loadBefore}.

Hello world at ${rate}/s over 50 connections, the server's own CPU per request; both take turns of a second, ${pairs} in each
of ${rounds} rounds, medians:

| \`protect()\` | with \`metrics(guard)\` | ratio | ratio of each round |
| ---: | ---: | ---: | --- |
| ${result.protectedUs.toFixed(2)} us | ${result.observedUs.toFixed(2)} us | ${result.ratio.toFixed(3)} | ${figures.map(f => f.ratio.toFixed(2)).join(', ')} |

What is aimed for is 1.02; part of the rest is an object or two a request for whoever subscribes to records.

The stall ledger's heartbeat on an idle process: ${(result.ledgerShareOfCore * 100).toFixed(2)} % of a core. One \`eventsWaiting\`
certificate: ${certificate.toFixed(2)} us a turn of the loop, however many calls ask for it in that turn. Aimed for is 0.5 % of a core; most of it is
the waking up, at rest 50 times a second, which on this machine costs 0.1 to 0.2 ms of CPU each.
`,
)
console.log(
  `median ratio ${result.ratio.toFixed(3)} (bar: 1.02); ledger ${(result.ledgerShareOfCore * 100).toFixed(2)} % of a core (bar: 0.5)`,
)
process.exit()
