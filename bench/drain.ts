/**
 * What a drain loses (packages/meltproof/src/server/drain.ts): requests that were sent and not answered while a server
 * goes away under load.
 *
 * Clients are closed loops that think for a random time between their requests, on keep-alive connections or on a new
 * one each. `balanced`: they stop when the readiness page says 503, asked every 100 ms, as behind a balancer. `direct`:
 * they go on until they are refused, which is no loss: a refused request has not been seen and can be sent elsewhere.
 *
 * Every drain is a server process of its own; the figures are sums over the rounds. Loopback only.
 *
 *   node bench/drain.ts [--rounds 10] [--clients 64]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { scriptOptions } from '../scripts/script-options.ts'
import { protect, type ProtectOptions } from '../packages/meltproof/src/index.ts'

interface Case {
  readonly name: string
  readonly options: ProtectOptions
  readonly keepAlive: boolean
  readonly balanced: boolean
  /** Longest time between an answer and the client's next request, ms. */
  readonly thinkMs: number
}

const CASES: readonly Case[] = [
  ...[false, true].flatMap(keepAlive =>
    [undefined, 0].map(delayMs => ({
      name: `balanced, ${keepAlive ? 'keep-alive' : 'new connections'}, drainDelayMs ${delayMs ?? 'default'}`,
      options: delayMs === undefined ? {} : { drainDelayMs: delayMs },
      keepAlive,
      balanced: true,
      thinkMs: 20,
    })),
  ),
  ...[0, 20, 500, 3000].map(thinkMs => ({
    name: `direct, keep-alive, thinking up to ${thinkMs} ms, drainDelayMs 0`,
    options: { drainDelayMs: 0 },
    keepAlive: true,
    balanced: false,
    thinkMs,
  })),
]

/** How long a request takes at the server, ms. */
const SERVICE_MS = 30
const WARM_UP_MS = 700
const DRAIN_MS = 6000

class Tally {
  answered = 0
  /** Sent on a connection that was open, and not answered. */
  lost = 0
  /** Not even connected. */
  refused = 0
  /** By code, those lost. */
  readonly codes: Record<string, number> = {}
}

if (process.argv[2] === 'serve') serve(JSON.parse(process.argv[3]!))
else await main()

function serve(options: ProtectOptions): void {
  const server = http.createServer((_request, response) => setTimeout(() => response.end('ok'), SERVICE_MS))
  const guard = protect(server, { readiness: '/ready', ...options })
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
  process.once('message', async () => {
    const beganAt = performance.now()
    const clean = await guard.drain(DRAIN_MS)
    process.send!({ clean, ms: performance.now() - beganAt }, () => process.disconnect())
  })
}

async function main(): Promise<void> {
  const given = scriptOptions(import.meta.filename, {
    rounds: { type: 'string', default: '10' },
    clients: { type: 'string', default: '64' },
  })
  const rounds = given.whole('rounds')
  const clients = given.whole('clients')
  console.log(
    '| clients | answered | lost | refused | drains that cut | drain took, ms |\n| --- | --- | --- | --- | --- | --- |',
  )
  for (const each of CASES) {
    const tally = new Tally()
    let cut = 0
    let longestMs = 0
    for (let round = 0; round < rounds; round++) {
      const { clean, ms } = await oneDrain(each, clients, tally)
      if (!clean) cut++
      longestMs = Math.max(longestMs, ms)
    }
    const codes = Object.entries(tally.codes).map(([code, count]) => ` ${code} ${count}`)
    console.log(
      `| ${each.name} | ${tally.answered} | ${tally.lost}${codes.join()} | ${tally.refused} | ${cut} | ${Math.round(longestMs)} |`,
    )
  }
}

async function oneDrain(each: Case, clients: number, tally: Tally): Promise<{ clean: boolean; ms: number }> {
  const child = fork(import.meta.filename, ['serve', JSON.stringify(each.options)])
  const [port] = (await once(child, 'message')) as [number]
  const stopped = { yes: false }
  const loops = Array.from({ length: clients }, () => ask(each, port, stopped, tally))
  await sleep(WARM_UP_MS)
  child.send('drain')
  const drained = once(child, 'message')
  if (each.balanced) {
    while ((await ready(port)) === true) await sleep(100)
    stopped.yes = true
  }
  const [told] = await drained
  await Promise.all(loops)
  if (child.exitCode === null) await once(child, 'exit')
  return told
}

/** One client: asks until it is to stop, or is refused. */
async function ask({ keepAlive, thinkMs }: Case, port: number, stopped: { yes: boolean }, tally: Tally): Promise<void> {
  const agent = new http.Agent({ keepAlive, maxSockets: 1 })
  for (let refused = false; !stopped.yes && !refused; ) {
    await new Promise<void>(resolve => {
      const request = http.get({ port, host: '127.0.0.1', path: '/', agent }, response => {
        response.resume()
        response.on('end', () => {
          tally.answered++
          resolve()
        })
        response.on('error', () => undefined)
      })
      request.on('error', error => {
        const { code = error.message } = error as NodeJS.ErrnoException
        refused = code === 'ECONNREFUSED'
        if (refused) tally.refused++
        else {
          tally.lost++
          tally.codes[code] = (tally.codes[code] ?? 0) + 1
        }
        resolve()
      })
    })
    if (thinkMs > 0) await sleep(Math.random() * thinkMs)
  }
  agent.destroy()
}

async function ready(port: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/ready`, { headers: { connection: 'close' } }).catch(
    () => undefined,
  )
  await response?.arrayBuffer()
  return response?.status === 200
}
