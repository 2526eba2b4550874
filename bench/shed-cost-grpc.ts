/**
 * Measures r of gRPC, the server's own CPU per shed call, over 50 connections of HTTP/2. Compares r with the minimum
 * that node:http2 takes to answer a call with a status.
 *
 *   node bench/shed-cost-grpc.ts [--rounds 5] [--rate 1500] [--seconds 4]
 *
 * Writes bench/results/shed-cost-grpc.json, from which `npm run apps` derives the highest goodput of a gRPC server.
 */
import { writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import { join } from 'node:path'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions, spreadOf } from './lib/conditions.ts'
import { median, startServer } from './lib/measured-server.ts'

const CONNECTIONS = 50
const WARM_UP_S = 2
const TICK_MS = 1
const HEAD = {
  ':method': 'POST',
  ':path': '/stranger.Stranger/Score',
  'content-type': 'application/grpc',
  te: 'trailers',
}
/** An empty gRPC message. */
const MESSAGE = Buffer.alloc(5)

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '5' },
  rate: { type: 'string', default: '1500' },
  seconds: { type: 'string', default: '4' },
})
const rate = options.whole('rate')
const wanted = options.whole('rounds')
const script = join(import.meta.dirname, 'lib/shed-servers.ts')
const where = conditions()
const rounds: Record<string, number[]> = { grpc: [], 'grpc-floor': [] }
for (let round = 0; round < wanted; round++) {
  for (const [name, costs] of Object.entries(rounds)) {
    const server = await startServer(script, [name, 'busy'])
    const sessions = Array.from({ length: CONNECTIONS }, () => http2.connect(server.url))
    await offer(sessions, WARM_UP_S)
    const before = await server.cpuUs()
    const answered = await offer(sessions, options.whole('seconds'))
    const us = ((await server.cpuUs()) - before) / answered
    for (const session of sessions) session.destroy()
    await server.stop()
    costs.push(us)
    console.log(`${name} round ${round + 1}: ${us.toFixed(2)} us`)
  }
}
const costUs = Object.fromEntries(Object.entries(rounds).map(([name, us]) => [name, median(us)]))
const spreadUs = Object.fromEntries(Object.entries(rounds).map(([name, us]) => [name, spreadOf(us)]))
writeFileSync(
  join(import.meta.dirname, 'results/shed-cost-grpc.json'),
  `${JSON.stringify({ ...where, rounds: wanted, rate, costUs, spreadUs }, null, 2)}\n`,
)
console.log(JSON.stringify(costUs, null, 2))
process.exit()

/** Returns the number of answered calls. */
async function offer(sessions: readonly http2.ClientHttp2Session[], seconds: number): Promise<number> {
  const total = rate * seconds
  const startedMs = performance.now()
  const calls: Promise<void>[] = []
  while (calls.length < total) {
    const due = Math.min(total, ((performance.now() - startedMs) / 1000) * rate)
    while (calls.length < due) calls.push(call(sessions[calls.length % sessions.length]!))
    await new Promise(resolve => setTimeout(resolve, TICK_MS))
  }
  await Promise.all(calls)
  return total
}

function call(session: http2.ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request(HEAD)
    stream.on('close', resolve).on('error', reject).resume()
    stream.end(MESSAGE)
  })
}
