/**
 * Measures the cost of bounds per call, in its own process: `node outbound-cost.ts CLIENT ARM URL CALLS`. Prints the
 * CPU of this process per call, us, with warm connections and 20 calls in flight.
 */
import http from 'node:http'
import { install } from 'meltproof/outbound'
import { Agent, request } from 'undici'

const IN_FLIGHT = 20
const [name = '', arm = '', url = '', calls = '20000'] = process.argv.slice(2)
if (arm === 'meltproof') install()
const agent = new http.Agent({ keepAlive: true, maxSockets: IN_FLIGHT })
const dispatcher = new Agent({ connections: IN_FLIGHT })
const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
  fetch: async () => (await fetch(url)).text(),
  undici: async () => (await request(url, { dispatcher })).body.text(),
  'node:http': () =>
    new Promise((resolve, reject) => {
      http.get(url, { agent }, response => response.on('end', resolve).resume()).on('error', reject)
    }),
}
const call = CALLS[name]!
await run(Number(calls) / 4)
const before = process.cpuUsage()
await run(Number(calls))
const { user, system } = process.cpuUsage(before)
console.log((user + system) / Number(calls))
process.exit()

async function run(count: number): Promise<void> {
  let left = count
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (left-- > 0) await call()
    }),
  )
}
