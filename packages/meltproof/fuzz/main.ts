/**
 * `npm run fuzz`: a million requests of every kind (valid, malformed, aborted, slow, too many) against protected
 * servers. Ends by asserting that nothing is left behind: inflight 0, queued 0, flat memory, no exception of anybody's,
 * and that a normal request is still answered. Exits 0 when all holds, 1 when something does not, 2 for bad options.
 *
 *   node packages/meltproof/fuzz/main.ts [--requests 1000000] [--seconds N] [--seed N] [--connections 256]
 *                                        [--idle 2000] [--slow 200] [--only INDEX]
 *
 * `--seconds` ends the run by time instead of by count. A conversation that was answered wrongly is named by its index:
 * `--seed SEED --only INDEX` prints its bytes and has it once more, alone.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { join } from 'node:path'
import { growth } from '../../../scripts/growth.ts'
import { scriptOptions } from '../../../scripts/script-options.ts'
import { Random } from '../sim/random.ts'
import { startBackground } from './background.ts'
import { Broken, converse } from './client.ts'
import { type Conversation, makeConversation } from './conversations.ts'
import type { TargetHealth } from './target.ts'

/** The run stands still this often and looks for what was left behind. */
const CHECKS = 10
/** The first checks find caches filling up and code being compiled: memory counts from here on. */
const SETTLED_AFTER = 3
/** What the heap may grow by over the other checks, bytes: caches that still fill up. */
const HEAP_SLACK = 1024 * 1024
/** What the process may grow by meanwhile, bytes: allocators keep what a burst needed, but not ever more. */
const RSS_SLACK = 128 * 1024 * 1024
/** How long the server may take to notice that everybody has gone, ms. */
const SETTLE_MS = 20_000
/** Many loopback addresses to come from, so that ports do not run out; Linux has all of 127/8. */
const ADDRESSES = process.platform === 'linux' ? 200 : 0

const options = readOptions()
const failures: string[] = []

function readOptions() {
  const { values, whole } = scriptOptions(import.meta.filename, {
    requests: { type: 'string', default: '1000000' },
    seconds: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    connections: { type: 'string', default: '256' },
    idle: { type: 'string', default: '2000' },
    slow: { type: 'string', default: '200' },
    only: { type: 'string' },
  })
  return {
    requests: whole('requests'),
    seconds: values.seconds === undefined ? undefined : whole('seconds'),
    seed: whole('seed', 0),
    connections: whole('connections'),
    idle: whole('idle', 0),
    slow: whole('slow', 0),
    only: values.only === undefined ? undefined : whole('only', 0),
  }
}

/** Every conversation has randomness of its own, so that it can be had again alone. */
function conversationAt(index: number): { talk: Conversation; random: Random } {
  const random = new Random((options.seed + Math.imul(index, 0x9e3779b1)) >>> 0)
  return { talk: makeConversation(random), random }
}

class Run {
  readonly #target: ChildProcess
  readonly #ports: readonly number[]
  readonly #startedMs = performance.now()
  #index = 0
  #sent = 0
  readonly #kinds: Record<string, number> = {}
  readonly #statuses: Record<number, number> = {}
  readonly #exited: Promise<void>
  #exit: string | undefined

  constructor(target: ChildProcess, ports: readonly number[]) {
    this.#target = target
    this.#ports = ports
    this.#exited = new Promise(resolve => {
      target.once('exit', (code, signal) => {
        this.#exit = `the server's process ended: ${signal ?? `code ${code}`}`
        resolve()
      })
    })
  }

  async everything(): Promise<void> {
    const healths: TargetHealth[] = []
    for (let check = 1; check <= CHECKS && !this.#over; check++) {
      // Not more idle ones than the server's own limit on files leaves room for.
      const background = startBackground(this.#ports, options.idle, options.slow, new Random(options.seed + check))
      await this.#converseUntil(check / CHECKS)
      background.stop()
      const health = await this.#settle()
      if (health === undefined) break
      healths.push(health)
      await this.#askNormally()
      this.#tell(check, health, background.opened)
    }
    this.#checkMemory(healths)
    if (this.#exit !== undefined) failures.push(this.#exit)
    console.log(`kinds: ${tally(this.#kinds)}`)
    console.log(`answers of strict conversations: ${tally(this.#statuses)}`)
  }

  get sent(): number {
    return this.#sent
  }

  get #over(): boolean {
    return this.#exit !== undefined || failures.length > 0
  }

  #reached(share: number): boolean {
    if (this.#over) return true
    if (options.seconds === undefined) return this.#sent >= options.requests * share
    return performance.now() - this.#startedMs >= options.seconds * 1000 * share
  }

  async #converseUntil(share: number): Promise<void> {
    const one = async (): Promise<void> => {
      while (!this.#reached(share)) await this.#converse(this.#index++)
    }
    await Promise.all(Array.from({ length: options.connections }, one))
  }

  async #converse(index: number): Promise<void> {
    const { talk, random } = conversationAt(index)
    this.#sent += talk.requests
    this.#kinds[talk.kind] = (this.#kinds[talk.kind] ?? 0) + 1
    const port = this.#ports[Math.floor(random.next() * this.#ports.length)]!
    const from = ADDRESSES === 0 ? undefined : `127.0.1.${1 + (index % ADDRESSES)}`
    try {
      const { statuses } = await converse(port, from, talk)
      for (const [status, count] of Object.entries(statuses)) {
        this.#statuses[Number(status)] = (this.#statuses[Number(status)] ?? 0) + count
      }
    } catch (error) {
      if (!(error instanceof Broken)) throw error
      const server = this.#ports.indexOf(port) === 0 ? 'node:http' : 'fastify'
      failures.push(`conversation ${index} (${talk.kind}, ${server}): ${error.message}`)
    }
  }

  /** Waits until nobody is connected, and reports what is left then. */
  async #settle(): Promise<TargetHealth | undefined> {
    const until = performance.now() + SETTLE_MS
    for (;;) {
      const health = await this.#health()
      if (health === undefined) return undefined
      const { inflight, queued, connections, troubles } = health
      if (troubles.length > 0) failures.push(...troubles)
      const left = inflight + queued + connections
      if (left === 0 || troubles.length > 0) return health
      if (performance.now() > until) {
        failures.push(
          `${SETTLE_MS} ms after everybody left: inflight ${inflight}, queued ${queued}, ` +
            `connections ${connections} (node:http, fastify: ${health.connectionsOf}); all must be 0`,
        )
        return health
      }
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }

  async #health(): Promise<TargetHealth | undefined> {
    if (this.#exit !== undefined) return undefined
    const answer = new Promise<TargetHealth>(resolve => {
      this.#target.once('message', report => resolve(report as TargetHealth))
    })
    this.#target.send('health')
    return Promise.race([answer, this.#exited.then(() => undefined)])
  }

  async #askNormally(): Promise<void> {
    for (const port of this.#ports) {
      const status = await ask(port)
      if (status !== 200) failures.push(`after it all, a normal request was answered ${status}`)
    }
  }

  #checkMemory(healths: readonly TargetHealth[]): void {
    if (healths.length < CHECKS) return
    const growthOf = (read: (health: TargetHealth) => number): number => growth(healths.slice(SETTLED_AFTER).map(read))
    const all = (read: (health: TargetHealth) => number): string => healths.map(health => mib(read(health))).join(', ')
    const heap = growthOf(health => health.heapBytes)
    if (heap > HEAP_SLACK) failures.push(`the heap grew by ${mib(heap)}: ${all(health => health.heapBytes)}`)
    const rss = growthOf(health => health.rssBytes)
    if (rss > RSS_SLACK) failures.push(`the process grew by ${mib(rss)}: ${all(health => health.rssBytes)}`)
  }

  #tell(check: number, health: TargetHealth, background: number): void {
    const seconds = (performance.now() - this.#startedMs) / 1000
    console.log(
      `${check}/${CHECKS}  ${seconds.toFixed(0)} s  ${this.#sent} requests in ${this.#index} conversations, ` +
        `${background} standing or slow; apps saw ${health.seen}, shed ${health.shed}; left: inflight ` +
        `${health.inflight}, queued ${health.queued}; heap ${mib(health.heapBytes)}, rss ${mib(health.rssBytes)}`,
    )
  }
}

function ask(port: number): Promise<number | string> {
  return new Promise(resolve => {
    const request = http.get({ port, host: '127.0.0.1', path: '/fast/0', agent: false, timeout: 10_000 }, response => {
      response.resume().on('end', () => resolve(response.statusCode!))
    })
    request.on('timeout', () => request.destroy(new Error('not within 10 s')))
    request.on('error', error => resolve(error.message))
  })
}

const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`
const tally = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')

console.log(
  `fuzz: seed ${options.seed}, ${options.seconds === undefined ? `${options.requests} requests` : `${options.seconds} s`}`,
)
const target = spawn(process.execPath, [...process.execArgv, '--expose-gc', join(import.meta.dirname, 'target.ts')], {
  stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
})
const [{ ports }] = (await once(target, 'message')) as [{ ports: number[] }]
if (options.only !== undefined) {
  const { talk } = conversationAt(options.only)
  console.log(talk)
  for (const port of ports) console.log(await converse(port, undefined, talk))
} else {
  const run = new Run(target, ports)
  await run.everything()
  for (const failure of failures) console.error(`FAILED: ${failure}`)
  if (failures.length > 0) console.error(`again: node packages/meltproof/fuzz/main.ts --seed ${options.seed}`)
  else console.log(`passed: ${run.sent} requests`)
}
target.disconnect()
await once(target, 'exit')
// Whatever a client socket still waits for must not keep the machine busy.
process.exit(failures.length > 0 ? 1 : 0)
