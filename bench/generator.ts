/**
 * Measures the load generator itself against its bars (DESIGN.md, "lab generator, HTTP/1.1"): how much CPU a request
 * costs, which open-loop rate one core keeps, and how far p50 and p99 are from the truth.
 *
 *   node bench/generator.ts [rounds]
 *
 * The server is a child process that parses nothing and writes a fixed answer from the bare handle of the socket, as
 * fast as Node goes, on a core of its own; generators have another. The truth for the accuracy test is
 * a client that does nothing but spin on one connection, closed loop: what this machine's loopback and that server take.
 * Figures are medians of the rounds.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { planOf } from '../packages/lab/src/load/load-request.ts'
import { pinned } from '../packages/lab/src/launch/core-pinning.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { median, pinning } from './lib/measured-server.ts'

const SELF = fileURLToPath(import.meta.url)

const SERVER = `
  const { TCP, constants } = process.binding('tcp_wrap')
  const { WriteWrap, streamBaseState, kReadBytesOrError } = process.binding('stream_wrap')
  const head = ['HTTP/1.1 200 OK', 'Content-Type: text/plain', 'Date: Thu, 01 Jan 1970 00:00:00 GMT', 'Connection: keep-alive', 'Keep-Alive: timeout=5', 'Content-Length: 12', '', ''].join('\\r\\n')
  const answer = Buffer.from(head + 'hello world\\n')
  const buffer = new Uint8Array(65536)
  const server = new TCP(constants.SERVER)
  server.bind('127.0.0.1', 0)
  server.onconnection = (error, socket) => {
    if (error) return
    socket.setNoDelay(true)
    socket.onread = () => {
      if (streamBaseState[kReadBytesOrError] < 0) return socket.close()
      const write = new WriteWrap()
      write.handle = socket
      write.oncomplete = () => {}
      socket.writeBuffer(write, answer)
    }
    socket.useUserBuffer(buffer)
    socket.readStart()
  }
  server.listen(511)
  const name = {}
  server.getsockname(name)
  console.log(name.port)
`

/** Prints of a Node process on a core. */
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
  /** CPU of the worker without its idle turns, and of the whole process with everything. Microseconds a request. */
  readonly workUs: number
  readonly processUs: number
  readonly certified: boolean
}

/** In the child: one run. */
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

/** In the child: the truth. One request at a time, 1 ms apart, the loop never asleep. */
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
  const [command, ...args] = pinned([process.execPath, '--no-deprecation', '-e', SERVER], pinning?.server)
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
  const us = (ms: number): string => `${(ms * 1000).toFixed(0)}`
  const rows = [...results].map(([name, list]) => ({
    run: name,
    'rate/s': Math.round(at(list, round => round.rate)),
    'p50 us': us(at(list, round => round.p50)),
    'p99 us': us(at(list, round => round.p99)),
    'lag p50 us': us(at(list, round => round.lagP50)),
    'lag p99 us': us(at(list, round => round.lagP99)),
    'work us/request': at(list, round => round.workUs).toFixed(2),
    'process us/request': at(list, round => round.processUs).toFixed(2),
    certified: `${list.filter(round => round.certified).length}/${list.length}`,
  }))
  const real = { p50: median(truths.map(one => one.p50)), p99: median(truths.map(one => one.p99)) }
  const slow = results.values().next().value!
  const error = {
    p50Ms: at(slow, round => round.p50) - real.p50,
    p99Ms: at(slow, round => round.p99) - real.p99,
  }
  console.table(rows)
  console.log(`truth at 1,000/s: p50 ${us(real.p50)} us, p99 ${us(real.p99)} us (spinning reference)`)
  console.log(`error at 1,000/s: p50 ${us(error.p50Ms)} us (bar 100), p99 ${us(error.p99Ms)} us (bar 300)`)
}

if (process.argv[2] === 'child') {
  const [, , , what, where, kind, amount, connections] = process.argv
  const found =
    what === 'truth' ? await truth(Number(where)) : await load(where!, kind!, Number(amount), Number(connections))
  process.stdout.write(JSON.stringify(found))
} else {
  await main()
}
