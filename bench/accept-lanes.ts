/**
 * What accept lanes change (packages/meltproof/src/server/lanes.ts).
 *
 * Starvation: a server that does one slice of work per turn of its loop is offered more new connections than it can
 * serve. It has a gate (a bounded queue, the rest gets 503 at once), yet with one listener it accepts one connection
 * per turn, and the rest waits in the kernel where no gate sees it. Three settings: 1 ms slices at twice the capacity,
 * 5 ms slices at ten and at twenty times.
 *
 * Cost: the server's own CPU per request at a fixed rate that does not strain it, fresh connections and keep-alive,
 * and when idle.
 *
 * Latency counts from the scheduled time of the connection. Server and client are processes of their own, pinned to
 * different cores where taskset exists. Loopback only.
 *
 *   node bench/accept-lanes.ts [--rounds 3] [--seconds 3] [--lanes 1,4,8,16,32,64] [--only starvation|cost]
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { scriptOptions } from '../scripts/script-options.ts'
import { openLanes } from '../packages/meltproof/src/server/lanes.ts'

/** What may wait for work: 40 ms of it. */
const QUEUED_WORK_MS = 40
const STARVATION = [
  { workMs: 1, rate: 2_000 },
  { workMs: 5, rate: 2_000 },
  { workMs: 5, rate: 4_000 },
]
/** Fresh connections and keep-alive requests per second of the cost table: below a quarter of what the server can do. */
const FRESH_RATE = 1_000
const KEEP_ALIVE_RATE = 4_000
const KEEP_ALIVE_CONNECTIONS = 64
/** How long after the last scheduled connection an answer still counts. */
const GRACE_MS = 2_000

type Mode = 'fresh' | 'keep-alive'
interface Load {
  mode: Mode
  port: number
  rate: number
  seconds: number
}
interface ServerOptions {
  lanes: number
  /** 0 answers at once. */
  workMs: number
  seconds: number
}
interface ServerCount {
  /** In the first `seconds` after the first connection, that is, while the load lasts. */
  accepted: number
  cpuUs: number
}
interface ClientCount {
  scheduled: number
  ok: number[]
  shed: number[]
  failed: Record<string, number>
}

const PINNED = process.send === undefined && hasTaskset()

const [role, argument] = process.argv.slice(2)
if (role === 'server') serve(JSON.parse(argument!) as ServerOptions)
else if (role === 'client') {
  process.once('message', load => void attack(load as Load).then(count => process.send!(count, () => process.exit())))
  process.send!('ready')
} else await main()

function serve({ lanes, workMs, seconds }: ServerOptions): void {
  const waiting: http.ServerResponse[] = []
  let working = false
  const slice = (): void => {
    const until = performance.now() + workMs
    while (performance.now() < until);
    waiting.shift()?.end('ok')
    working = waiting.length > 0
    if (working) setImmediate(slice)
  }
  const server = http.createServer((_, response) => {
    if (workMs === 0) {
      response.end('ok')
    } else if (waiting.length >= QUEUED_WORK_MS / workMs) {
      response.statusCode = 503
      response.end()
    } else {
      waiting.push(response)
      if (!working) setImmediate(slice)
      working = true
    }
  })
  let accepted = 0
  let first: number | undefined
  server.on('connection', () => {
    first ??= performance.now()
    if (performance.now() - first < seconds * 1_000) accepted++
  })
  const opened = openLanes(server, { lanes })
  server.listen(0, '127.0.0.1', () => {
    if (opened.count !== lanes) throw new Error(`${opened.count} lanes instead of ${lanes}: ${opened.reason}`)
    process.send!((server.address() as net.AddressInfo).port)
  })
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send!({ accepted, cpuUs: user + system } satisfies ServerCount)
  })
  process.on('disconnect', () => process.exit())
}

async function attack({ mode, port, rate, seconds }: Load): Promise<ClientCount> {
  const count: ClientCount = { scheduled: 0, ok: [], shed: [], failed: {} }
  const open = new Set<net.Socket>()
  const answered = (at: number, status: string): void =>
    void (status === '200' ? count.ok : count.shed).push(performance.now() - at)
  const failed = (code: string): void => {
    count.failed[code] = (count.failed[code] ?? 0) + 1
  }

  const fresh = (at: number): void => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    open.add(socket)
    socket.write('GET / HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n')
    socket.once('data', data => {
      open.delete(socket)
      answered(at, data.toString('latin1', 9, 12))
      // A reset leaves no TIME_WAIT behind: rounds do not run out of ports.
      socket.resetAndDestroy()
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (open.delete(socket)) failed(error.code ?? 'error')
    })
  }

  const pool: { socket: net.Socket; sent: number[] }[] = []
  if (mode === 'keep-alive') {
    for (let i = 0; i < KEEP_ALIVE_CONNECTIONS; i++) {
      const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
      const sent: number[] = []
      await once(socket, 'connect')
      socket.on('data', data => answered(sent.shift() ?? Number.NaN, data.toString('latin1', 9, 12)))
      pool.push({ socket, sent })
    }
  }
  const reuse = (at: number, i: number): void => {
    const { socket, sent } = pool[i % pool.length]!
    sent.push(at)
    socket.write('GET / HTTP/1.1\r\nHost: bench\r\n\r\n')
  }

  const start = performance.now() + 10
  const total = rate * seconds
  while (count.scheduled < total) {
    await sleep(1)
    for (const now = performance.now(); count.scheduled < total; count.scheduled++) {
      const at = start + (count.scheduled * 1_000) / rate
      if (at > now) break
      if (mode === 'keep-alive') reuse(at, count.scheduled)
      else fresh(at)
    }
  }
  const end = performance.now() + GRACE_MS
  const settled = (): number =>
    count.ok.length + count.shed.length + Object.values(count.failed).reduce((sum, n) => sum + n, 0)
  while (settled() < total && performance.now() < end) await sleep(10)
  return count
}

async function main(): Promise<void> {
  const options = scriptOptions(import.meta.filename, {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    lanes: { type: 'string', default: '1,4,8,16,32,64' },
    only: { type: 'string' },
  })
  const rounds = options.whole('rounds')
  const seconds = options.whole('seconds')
  const parts = options.chosen('only', ['starvation', 'cost'])
  const lanes = options.values.lanes.split(',').map(Number)

  console.log(
    `accept lanes · ${new Date().toISOString().slice(0, 10)} · ${os.cpus()[0]?.model ?? '?'}, ${os.cpus().length} cores`,
  )
  console.log(`${os.type()} ${os.release()} · node ${process.version}, libuv ${process.versions.uv}`)
  console.log(
    `medians of ${rounds} rounds of ${seconds} s, arms interleaved; ${PINNED ? 'server on core 0, client on core 1' : 'not pinned: no taskset'}`,
  )

  if (parts.includes('starvation'))
    console.log(`(answers count until ${GRACE_MS / 1_000} s after the last connection was due)`)
  for (const { workMs, rate } of parts.includes('starvation') ? STARVATION : []) {
    const capacity = 1_000 / workMs
    console.log(`\n${rate} new connections/s on a server that serves ${capacity}/s in slices of ${workMs} ms`)
    await table(lanes, rounds, async count => {
      const { client, server } = await run({ lanes: count, workMs, seconds }, { mode: 'fresh', rate, seconds })
      const all = [...client.ok, ...client.shed]
      const failed = Object.values(client.failed).reduce((sum, n) => sum + n, 0)
      return {
        'accepted/s': server.accepted / seconds,
        'ok within 1 s /s': client.ok.filter(ms => ms <= 1_000).length / seconds,
        'shed/s': client.shed.length / seconds,
        'p50 ms': quantile(all, 0.5),
        'p99 ms': quantile(all, 0.99),
        'ok p50 ms': quantile(client.ok, 0.5),
        'ok p99 ms': quantile(client.ok, 0.99),
        'shed p99 ms': quantile(client.shed, 0.99),
        failed,
        'never answered': client.scheduled - all.length - failed,
      }
    })
  }
  if (!parts.includes('cost')) return

  console.log(
    `\nCost: server CPU per request, ${FRESH_RATE}/s on fresh connections and ${KEEP_ALIVE_RATE}/s on ${KEEP_ALIVE_CONNECTIONS} kept alive; idle for ${seconds} s`,
  )
  await table(lanes, rounds, async count => {
    const fresh = await run({ lanes: count, workMs: 0, seconds }, { mode: 'fresh', rate: FRESH_RATE, seconds })
    const kept = await run({ lanes: count, workMs: 0, seconds }, { mode: 'keep-alive', rate: KEEP_ALIVE_RATE, seconds })
    return {
      'fresh us/request': fresh.server.cpuUs / fresh.client.ok.length,
      'fresh p50 ms': quantile(fresh.client.ok, 0.5),
      'fresh p99 ms': quantile(fresh.client.ok, 0.99),
      'keep-alive us/request': kept.server.cpuUs / kept.client.ok.length,
      'keep-alive p50 ms': quantile(kept.client.ok, 0.5),
      'keep-alive p99 ms': quantile(kept.client.ok, 0.99),
      'idle us/s': (await idle(count, seconds)) / seconds,
    }
  })
}

/** Runs every arm in every round, in turn, and prints the median of each column. */
async function table(lanes: number[], rounds: number, arm: (lanes: number) => Promise<Record<string, number>>) {
  const seen = new Map(lanes.map(count => [count, [] as Record<string, number>[]]))
  for (let round = 0; round < rounds; round++) for (const count of lanes) seen.get(count)!.push(await arm(count))
  let header = true
  for (const [count, results] of seen) {
    const columns = Object.keys(results[0]!)
    if (header) console.log(['lanes', ...columns].join('  '))
    header = false
    const cells = columns.map(name => {
      const value = quantile(
        results.map(result => result[name]!),
        0.5,
      )
      return (value >= 100 ? value.toFixed(0) : value.toFixed(1)).padStart(name.length)
    })
    console.log([String(count).padStart(5), ...cells].join('  '))
  }
}

async function run(options: ServerOptions, load: Omit<Load, 'port'>) {
  const server = child(0, 'server', JSON.stringify(options))
  const port = await reply<number>(server)
  const client = child(1, 'client')
  await reply(client)
  const before = await ask<ServerCount>(server, 'count')
  const count = await ask<ClientCount>(client, { ...load, port })
  const after = await ask<ServerCount>(server, 'count')
  server.disconnect()
  await once(server, 'exit')
  return {
    client: count,
    server: { accepted: after.accepted - before.accepted, cpuUs: after.cpuUs - before.cpuUs },
  }
}

async function idle(lanes: number, seconds: number): Promise<number> {
  const server = child(0, 'server', JSON.stringify({ lanes, workMs: 0, seconds } satisfies ServerOptions))
  await reply(server)
  await sleep(500)
  const before = await ask<ServerCount>(server, 'count')
  await sleep(seconds * 1_000)
  const after = await ask<ServerCount>(server, 'count')
  server.disconnect()
  await once(server, 'exit')
  return after.cpuUs - before.cpuUs
}

function child(core: number, ...args: string[]): ChildProcess {
  const command = [process.execPath, import.meta.filename, ...args]
  const [file, ...rest] = PINNED ? ['taskset', '-c', String(core), ...command] : command
  return spawn(file!, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], serialization: 'advanced' })
}

async function ask<T>(process: ChildProcess, message: object | string): Promise<T> {
  const answer = reply<T>(process)
  process.send(message)
  return answer
}

async function reply<T>(process: ChildProcess): Promise<T> {
  return (await once(process, 'message'))[0] as T
}

function hasTaskset(): boolean {
  try {
    execFileSync('taskset', ['-c', '1', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Nearest rank. */
function quantile(values: number[], q: number): number {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN
}
