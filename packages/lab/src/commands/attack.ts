/**
 * `meltlab attack URL`: load on one URL, and what came of it. Reads the flags, asks the engine and prints. load/ decides
 * what a figure means, report/attack-report.ts how the report reads.
 */
import { connect, isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { connect as connectTls } from 'node:tls'
import { type Command, Option } from 'commander'
import { parseDuration } from '../durations.ts'
import { liveLine } from '../experiment/context.ts'
import { checkPlan } from '../load/check-plan.ts'
import { planOf as loadPlan } from '../load/load-request.ts'
import type { LoadOutcome, LoadPlan, LoadProgress, Spacing } from '../load/plan.ts'
import { requestBytes } from '../load/request-bytes.ts'
import { runLoad } from '../load/run.ts'
import { planMs } from '../load/schedule.ts'
import { parseTarget, resolveAddress } from '../load/target.ts'
import { collect, headersOf, numberOf } from '../option-values.ts'
import { progressOn, repeating } from '../progress.ts'
import { formatCount } from '../report/format.ts'
import { UserError } from '../user-error.ts'
import { attackDocument, attackReport } from '../report/attack-report.ts'

/** Defaults of the flags; durations as a user would write them. */
const DEFAULTS = {
  /** Long enough for a p99 of a thousand requests at a modest rate. */
  duration: '10s',
  /** Arrivals per second when neither --rate nor --users is given. */
  rate: 50,
  /** What people still wait for; a request without an answer until then has failed. */
  timeout: '10s',
  slo: '1s',
  /** Standing connections of an open loop; it opens more, up to `mostConnections`, when all are busy. */
  connections: 50,
  mostConnections: 10_000,
  seed: 1,
} as const

/** Connecting takes one round trip; a connection that needs longer than this is not going to stand. */
const CONNECT_TIMEOUT_MS = 5000
/** Where nothing can be rewritten in place, a line this often. */
const PLAIN_EVERY_MS = 5000
/** One thread carries about this many requests a second on one core. */
const RATE_PER_THREAD = 60_000

interface Flags {
  readonly rate?: number
  readonly users?: number
  readonly rampTo?: number
  readonly duration: number
  readonly connections?: number
  readonly fresh?: true
  readonly timeout: number
  readonly slo: number
  readonly think?: number
  readonly spacing: Spacing
  readonly seed: number
  readonly threads?: number
  readonly method?: string
  readonly header?: readonly string[]
  readonly body?: string
  readonly json?: true
  readonly quiet?: true
}

/** A number between bounds, as a parser for commander. */
const numberWithin =
  (name: string, least: number, most: number, whole: boolean) =>
  (text: string): number =>
    numberOf(text, name, least, most, whole)

const duration =
  (name: string) =>
  (text: string): number =>
    parseDuration(text, name)

/** A duration with a default that `--help` shows as a user would write it. */
const lasting = (name: string, description: string, fallback: string): Option =>
  new Option(`${name} <duration>`, description)
    .argParser(duration(name))
    .default(parseDuration(fallback, name), fallback)

export const registerAttack = (program: Command): void => {
  program
    .command('attack')
    .description('send load to a URL, at a rate that does not wait (--rate) or from users who do (--users)')
    .argument('<url>', 'such as http://127.0.0.1:3000/')
    .option('--rate <n>', `requests per second, whatever the server does (default ${DEFAULTS.rate})`, rate('--rate'))
    .option('--ramp-to <n>', 'let the rate grow evenly from --rate to this', rate('--ramp-to'))
    .option('--users <n>', 'users who each wait for their answer', numberWithin('--users', 1, 100_000, true))
    .option('--think <duration>', 'pause of a user between two requests', duration('--think'))
    .addOption(lasting('--duration', 'how long', DEFAULTS.duration))
    .option(
      '--connections <n>',
      `standing keep-alive connections, and the most there may be (default ${DEFAULTS.connections}, more as needed up to ${DEFAULTS.mostConnections})`,
      numberWithin('--connections', 1, 1_000_000, true),
    )
    .option('--fresh', 'a new connection for every request')
    .addOption(lasting('--timeout', 'a request without an answer by then has failed', DEFAULTS.timeout))
    .addOption(lasting('--slo', 'answers within this are goodput', DEFAULTS.slo))
    .addOption(
      new Option('--spacing <kind>', 'how arrivals are spaced').choices(['even', 'poisson']).default('even' as Spacing),
    )
    .option(
      '--seed <n>',
      'seed of --spacing poisson',
      numberWithin('--seed', 0, Number.MAX_SAFE_INTEGER, true),
      DEFAULTS.seed,
    )
    .option('--threads <n>', 'worker threads (default: as the rate needs)', numberWithin('--threads', 1, 256, true))
    .option('--method <name>', 'HTTP method (default GET, POST with --body)')
    .option('--header <line>', 'a header such as "Accept: text/html"; repeatable', collect)
    .option('--body <text>', 'body of every request')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .option('--quiet', 'no live view on stderr')
    .action(async (url: string, flags: Flags) => {
      process.exitCode = await attack(url, flags)
    })
}

const rate = (name: string): ((text: string) => number) => numberWithin(name, 0.001, 1_000_000, false)

const attack = async (url: string, flags: Flags): Promise<number> => {
  const plan = planOf(url, flags)
  try {
    requestBytes(plan, parseTarget(url))
    checkPlan(plan)
  } catch (error) {
    throw new UserError(sentence((error as Error).message))
  }
  await preflight(plan)
  const abort = new AbortController()
  const interrupted = (): void => abort.abort()
  process.once('SIGINT', interrupted)
  process.once('SIGTERM', interrupted)
  const progress = progressOn(process.stderr)
  const tell = repeating(progress, process.stderr, PLAIN_EVERY_MS)
  const live = liveLine(url, flags.users === undefined ? 'open loop' : `${flags.users} users`, planMs(plan))
  let outcome: LoadOutcome
  try {
    outcome = await runLoad(plan, {
      signal: abort.signal,
      ...(flags.quiet === true
        ? {}
        : { onProgress: seen => tell(`${live(seen)}  ${answersOf(seen)}`, seen.elapsedMs) }),
    })
  } finally {
    progress.clear()
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', interrupted)
  }
  process.stdout.write(
    flags.json === true ? `${JSON.stringify(attackDocument(plan, outcome), null, 2)}\n` : attackReport(plan, outcome),
  )
  return outcome.incomplete ? 130 : 0
}

const answersOf = ({ answered, failed }: LoadProgress): string =>
  Object.entries({ ...answered, ...failed })
    .map(([name, times]) => `${name} ${formatCount(times)}`)
    .join('  ') || 'no answer yet'

const planOf = (url: string, flags: Flags): LoadPlan => {
  const open = flags.users === undefined
  if (!open && flags.rate !== undefined) {
    throw new UserError('--rate and --users exclude each other: a rate does not wait for answers, users do.')
  }
  if (!open && flags.rampTo !== undefined) throw new UserError('--ramp-to needs --rate, not --users.')
  if (open && flags.think !== undefined) throw new UserError('--think needs --users.')
  if (flags.fresh === true && flags.connections !== undefined) {
    throw new UserError('--fresh and --connections exclude each other: fresh connections do not stand.')
  }
  const fromRate = flags.rate ?? DEFAULTS.rate
  // A user holds one connection at a time, so a closed loop never needs more connections than users.
  const count = flags.connections ?? flags.users ?? DEFAULTS.connections
  const max = flags.connections ?? flags.users ?? DEFAULTS.mostConnections
  const needed = Math.ceil(Math.max(fromRate, flags.rampTo ?? 0) / RATE_PER_THREAD)
  const threads =
    flags.threads ?? (open ? Math.min(Math.max(1, needed), Math.max(1, availableParallelism() - 1), max) : 1)
  const { users, rampTo, duration: durationMs, timeout: timeoutMs, slo: sloMs, spacing, seed, body } = flags
  const arrival =
    users === undefined
      ? { rate: fromRate, ...(rampTo === undefined ? {} : { rampTo }) }
      : { users, thinkMs: flags.think ?? 0 }
  return {
    ...loadPlan({ url, body, durationMs, timeoutMs, sloMs, spacing, seed, ...arrival }),
    method: flags.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: headersOf(flags.header ?? []),
    connections: flags.fresh === true ? { kind: 'fresh' } : { kind: 'keep-alive', count, max },
    connectTimeoutMs: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    threads,
  }
}

const sentence = (text: string): string => `${text.replace(/\.$/, '')}.`

/** One connection before the load: what is plainly wrong is said in one sentence instead of ten thousand failures. */
const preflight = async (plan: LoadPlan): Promise<void> => {
  const target = parseTarget(plan.url)
  const where = `${target.hostname}:${target.port}`
  const address = await resolveAddress(target, plan.connectTimeoutMs)
  if (address === undefined) throw new UserError(`The name ${target.hostname} has no address: is it spelt right?`)
  await new Promise<void>((resolve, reject) => {
    let connected = false
    const end = (problem?: string): void => {
      clearTimeout(timer)
      socket.destroy()
      if (problem === undefined) resolve()
      else reject(new UserError(problem))
    }
    const socket = target.secure
      ? connectTls({
          host: address,
          port: target.port,
          servername: isIP(target.hostname) === 0 ? target.hostname : '',
        }).on('secureConnect', () => end())
      : connect({ host: address, port: target.port }).on('connect', () => end())
    const timer = setTimeout(
      () => end(`${where} does not answer: no connection within ${plan.connectTimeoutMs} ms.`),
      plan.connectTimeoutMs,
    )
    // Registered last: over TLS this one is not yet the end.
    if (target.secure) socket.on('connect', () => (connected = true))
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') end(`${where} refuses connections: is the server running?`)
      else if (connected) end(`${where} does not speak TLS as asked: ${sentence(error.message.trim())}`)
      else end(`${where} can not be reached: ${sentence(error.message)}`)
    })
  })
}
