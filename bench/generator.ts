/**
 * Measures the load generator itself against its bars: the CPU cost of a request, the open-loop rate that one core
 * sustains, and the error of p50 and p99.
 *
 *   node bench/generator.ts [rounds]
 *
 * The server (lib/raw-server.mjs) has its own core; generators have another. The true latency is that of a client which
 * sends one request at a time and never sleeps, so it measures only the loopback and the server on this machine.
 * Figures are medians of the rounds. Writes results/generator.json; bench/write-generator.ts makes the page.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { planOf } from '../packages/lab/src/load/load-request.ts'
import { pinned } from '../packages/lab/src/launch/core-pinning.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { type Conditions, conditions, spreadOf } from './lib/conditions.ts'
import { median, pinning } from './lib/measured-server.ts'

const SELF = fileURLToPath(import.meta.url)

/** Runs a Node process on a core and returns its output. */
const printed = async (core: number | undefined, ...args: string[]): Promise<string> => {
  const [command, ...rest] = pinned([process.execPath, '--no-deprecation', ...args], core)
  return (await promisify(execFile)(command!, rest)).stdout
}

interface Round {
  readonly rate: number
  readonly p50: number
  readonly p99: number
  readonly lagP50: number
  readonly lagP99: number
  /** CPU per request of the worker without its idle turns, and of the whole process, us. */
  readonly workUs: number
  readonly processUs: number
  readonly certified: boolean
}

/** Medians of the rounds. */
export interface GeneratorResult extends Conditions {
  readonly rounds: number
  /** The first row is the open loop at 1,000/s. */
  readonly rows: readonly (Omit<Round, 'certified'> & { readonly run: string; readonly certified: number })[]
  /** Latency of the client that spins, ms. */
  readonly truth: { readonly p50: number; readonly p99: number }
}

/** Runs in the child process: one run. */
const load = async (url: string, kind: string, amount: number, connections: number): Promise<Round> => {
  const request = planOf({ url, durationMs: 3000, ...(kind === 'open' ? { rate: amount } : { users: amount }) })
  const cpu = process.cpuUsage()
  const outcome = await runLoad({
    ...request,
    connections: { kind: 'keep-alive', count: connections, max: connections },
  })
  const { user, system } = process.cpuUsage(cpu)
  return {
    rate: (outcome.okLatency.count / outcome.elapsedMs) * 1000,
    p50: outcome.okLatency.percentile(50),
    p99: outcome.okLatency.percentile(99),
    lagP50: outcome.sendLag.percentile(50),
    lagP99: outcome.sendLag.percentile(99),
    workUs: outcome.cpuPerRequestUs,
    processUs: (user + system) / outcome.sent,
    certified: outcome.certified,
  }
}

/** Runs in the child process: measures the true latency, one request at a time, 1 ms apart; its loop never sleeps. */
const truth = async (port: number): Promise<{ p50: number; p99: number }> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  const request = Buffer.from('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: meltlab\r\nAccept: */*\r\n\r\n')
  const times: number[] = []
  let sentAt = 0
  let waiting = false
  socket.on('data', () => {
    times.push(performance.now() - sentAt)
    waiting = false
  })
  await new Promise<void>(resolve => {
    const end = performance.now() + 3000
    const turn = (): void => {
      const now = performance.now()
      if (now > end) {
        resolve()
        return
      }
      if (!waiting && now - sentAt >= 1) {
        waiting = true
        sentAt = now
        socket.write(request)
      }
      setImmediate(turn)
    }
    turn()
  })
  socket.destroy()
  times.sort((a, b) => a - b)
  return { p50: times[Math.ceil(times.length * 0.5)]!, p99: times[Math.ceil(times.length * 0.99)]! }
}

const main = async (): Promise<void> => {
  const rounds = Number(process.argv[2] ?? 3) || 3
  const where = conditions()
  const script = join(import.meta.dirname, 'lib/raw-server.mjs')
  const [command, ...args] = pinned([process.execPath, '--no-deprecation', script], pinning?.server)
  const server = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [data] = (await once(server.stdout, 'data')) as [Buffer]
  const port = Number(data.toString())
  const url = `http://127.0.0.1:${port}/`
  const run = async <T>(...args: (string | number)[]): Promise<T> =>
    JSON.parse(await printed(pinning?.lab, SELF, 'child', ...args.map(String))) as T
  const cases = [
    ['open', 1000, 50],
    ['open', 20_000, 50],
    ['open', 80_000, 50],
    ['open', 80_000, 1500],
    ['closed', 50, 50],
  ] as const
  const results = new Map<string, Round[]>()
  const truths: { p50: number; p99: number }[] = []
  try {
    for (let round = 0; round < rounds; round++) {
      truths.push(await run('truth', port))
      for (const [kind, amount, connections] of cases) {
        const name = `${kind} ${amount.toLocaleString('en-US')}${kind === 'open' ? '/s' : ' users'}, ${connections} connections`
        results.set(name, [...(results.get(name) ?? []), await run('load', url, kind, amount, connections)])
      }
    }
  } finally {
    server.kill()
  }
  const at = (list: readonly Round[], read: (round: Round) => number): number => median(list.map(read))
  const rows = [...results].map(([run, list]) => ({
    run,
    rate: at(list, round => round.rate),
    p50: at(list, round => round.p50),
    p99: at(list, round => round.p99),
    p99Spread: spreadOf(list.map(round => round.p99)),
    lagP50: at(list, round => round.lagP50),
    lagP99: at(list, round => round.lagP99),
    workUs: at(list, round => round.workUs),
    processUs: at(list, round => round.processUs),
    certified: list.filter(round => round.certified).length,
  }))
  const truth = { p50: median(truths.map(one => one.p50)), p99: median(truths.map(one => one.p99)) }
  const result: GeneratorResult = { ...where, rounds, rows, truth }
  console.table(rows)
  writeFileSync(join(import.meta.dirname, 'results/generator.json'), `${JSON.stringify(result, null, 2)}\n`)
}

if (process.argv[2] === 'child') {
  const [, , , what, where, kind, amount, connections] = process.argv
  const found =
    what === 'truth' ? await truth(Number(where)) : await load(where!, kind!, Number(amount), Number(connections))
  process.stdout.write(JSON.stringify(found))
} else {
  await main()
}
