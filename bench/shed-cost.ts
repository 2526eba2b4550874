/**
 * Measures r, the CPU cost of one shed: the server's own CPU per request while every request is shed and the loop is
 * busy with slices of other work, with 1,500 standing connections and with a connection per request. Also measures the
 * cost of the same 503 through ServerResponse, and the minimum: a net server that parses nothing.
 *
 *   node bench/shed-cost.ts [--rounds 5] [--rate 10000] [--fresh-rate 1500] [--seconds 4]
 *
 * The target, r <= 9 us with standing connections, is not reached: docs/costs.md shows the measured r. Writes
 * bench/results/shed-cost.json.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions, spreadOf } from './lib/conditions.ts'
import { cpuPerRequest, median, startServer } from './lib/measured-server.ts'

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '5' },
  rate: { type: 'string', default: '10000' },
  'fresh-rate': { type: 'string', default: '1500' },
  seconds: { type: 'string', default: '4' },
})
const script = join(import.meta.dirname, 'lib/shed-servers.ts')
const SERVERS = ['shed', 'shed-response', 'shed-floor'] as const
const MODES = [
  { name: 'standing', connections: 1500, rate: options.whole('rate') },
  { name: 'fresh', connections: 'fresh', rate: options.whole('fresh-rate') },
] as const
const wanted = options.whole('rounds')
const seconds = options.whole('seconds')
const where = conditions()
const costs: Record<string, Record<string, number>> = {}
const spreadUs: Record<string, unknown> = {}
for (const mode of MODES) {
  const rounds: Record<string, number[]> = {}
  for (let round = 0; round < wanted; round++) {
    for (const name of SERVERS) {
      const server = await startServer(script, [name, 'busy', mode.name])
      const us = await cpuPerRequest(server, { ...mode, seconds })
      await server.stop()
      rounds[name] = [...(rounds[name] ?? []), us]
      console.log(`${mode.name} ${name} round ${round + 1}: ${us.toFixed(2)} us`)
    }
  }
  costs[mode.name] = Object.fromEntries(Object.entries(rounds).map(([name, us]) => [name, median(us)]))
  spreadUs[mode.name] = Object.fromEntries(Object.entries(rounds).map(([name, us]) => [name, spreadOf(us)]))
}
const rates = Object.fromEntries(MODES.map(m => [m.name, m.rate]))
const result = { ...where, rounds: wanted, rates, costUs: costs, spreadUs }
writeFileSync(join(import.meta.dirname, 'results/shed-cost.json'), `${JSON.stringify(result, null, 2)}\n`)
console.log(JSON.stringify(costs, null, 2))
process.exit()
