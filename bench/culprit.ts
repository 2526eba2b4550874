/**
 * Which line blocked the event loop? Plants stalls of 100 ms to 3 s in fifteen forms in a server under register with
 * MELTPROOF_CULPRIT=on, and compares the line that meltproof names with the line that is marked in the source of the
 * server. Build first.
 *
 *   node bench/culprit.ts [--count 500] [--seed 1] [--fresh] [--dry]
 *   node bench/culprit.ts --costs [--seconds 60] [--pairs 12] [--dry]
 *   node bench/culprit.ts [--only FORM] [--node PATH]     writes nothing
 *
 * Runs of the same code, including stopped ones, add up to 500 stalls; --fresh starts over. A stall counts as
 * right if its record names the file and the line, and as unknown if it has no record, or one that says `unknown`. Any
 * other record is wrong. A record that names a range of lines is wrong too, and so is a record outside the stalls that
 * names a place which did not run at that time.
 * --costs measures two such servers side by side, one of them without MELTPROOF_CULPRIT: first both at rest, beside a
 * process that has only a timer and a sleeping worker, as the least that any watcher costs. Then it measures the CPU
 * and the latency of requests to each, alternating. Two processes with the same code differ by up to 20 %, so the
 * ratios are medians of many pairs of processes.
 *
 * Bars: 95 % right, none wrong, no wrong route, all forms planted. At rest, the watcher takes at most 0.5 % of a core
 * and 4 MB. A request takes at most 1.01 times the CPU, and its median and p99 are at most 1.01 times as long. Exit
 * code 3 if a bar is missed. Writes bench/results/culprit.json and the table in docs/culprit.md.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildSync } from 'esbuild'
import { allowedCores, coresOf, pinned, pinSelf } from '../packages/lab/src/launch/core-pinning.ts'
import { planOf } from '../packages/lab/src/load/load-request.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { writeWhole } from '../packages/lab/src/write-whole.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { printMissedBars } from './lib/bars.ts'
import { conditions } from './lib/conditions.ts'
import {
  added,
  type CostFigures,
  type CulpritFigures,
  culpritTable,
  type Judged,
  judged,
  missedBars,
  type PlantedFigures,
  type Ratio,
  type Report,
  SHORTEST_MS,
  stallsIn,
  sumOf,
  TOTAL,
} from './lib/culprit-figures.ts'
import { putTable } from './lib/page-table.ts'
import { extendable, readResult, resultFile, together } from './lib/parts.ts'
import { quantile } from './lib/quantile.ts'

const FOLDER = resolve(import.meta.dirname, 'lib/culprit')
const PAGE = resolve(import.meta.dirname, '../docs/culprit.md')
const LONGEST_MS = 3000
/** The figures are written after this number of stalls. A stopped run loses fewer stalls than this. */
const PART = 50
/** Requests per second in a turn, the length of a turn, and how often the two servers of a pair take turns. */
const RATE = 1000
const TURN_MS = 2000
const TURNS = 4
/** Time for V8 to compile and the watcher to start, ms. */
const SETTLES_MS = 15_000

const options = scriptOptions(import.meta.filename, {
  count: { type: 'string', default: String(TOTAL) },
  seed: { type: 'string', default: '1' },
  node: { type: 'string', default: process.execPath },
  only: { type: 'string' },
  fresh: { type: 'boolean', default: false },
  costs: { type: 'boolean', default: false },
  seconds: { type: 'string', default: '60' },
  pairs: { type: 'string', default: '12' },
  dry: { type: 'boolean', default: false },
})
const { values } = options
const where = conditions()
const isWritten = !values.dry && values.only === undefined && values.node === process.execPath
const known = readResult<CulpritFigures>('culprit')

interface Usage {
  readonly cpuMs: number
  readonly rss: number
  readonly privateMb: number
}

const agent = new Agent({ keepAlive: true, maxSockets: 50 })
const scratch = mkdtempSync(join(tmpdir(), 'meltproof-culprit-'))
const running = new Set<ChildProcess>()
try {
  const files = prepare()
  const made = values.costs ? { costs: await costs(files) } : { planted: await plant(files) }
  printMissedBars(missedBars(made))
  keep(made)
} finally {
  for (const child of running) child.kill()
  rmSync(scratch, { recursive: true, force: true })
  agent.destroy()
}

function keep(made: Partial<CulpritFigures>): void {
  if (!isWritten) return
  const result = { ...known, ...made }
  const figures: CulpritFigures = { ...result, missed: missedBars(result) }
  writeWhole(resultFile('culprit'), `${JSON.stringify(figures, null, 2)}\n`)
  putTable(PAGE, 'culprit', culpritTable(figures))
}

async function plant(files: readonly string[]): Promise<PlantedFigures> {
  const earlier = values.fresh || !isWritten ? undefined : extendable(known?.planted, where, {})
  const before = earlier === undefined ? 0 : stallsIn(sumOf(earlier))
  const count = Math.min(options.whole('count'), TOTAL - before)
  if (earlier !== undefined && count <= 0) {
    console.log(`${before} stalls were planted already; --fresh starts over`)
    return earlier
  }
  const server = await start(files, { MELTPROOF_CULPRIT: 'on' })
  const { forms } = await server.json<Report & { readonly forms: readonly string[] }>('/report')
  if (values.only !== undefined && !forms.includes(values.only)) throw new Error(`--only knows ${forms.join(', ')}`)
  const wanted = values.only === undefined ? forms : [values.only]
  const random = randomOf(options.whole('seed') + before)
  // Other requests: some run in the same turn of the loop as a stall, and some wait for its end.
  const others = setInterval(() => void server.text('/quick').catch(() => {}), 50)
  await sleep(2000)
  const found = async (): Promise<Judged> => judged(await server.json<Report>('/report'))
  const figures = (all: Judged): PlantedFigures => ({ ...together(earlier, where), ...added(earlier, all) })
  for (let i = before; i < before + count; i++) {
    const ms = SHORTEST_MS * (LONGEST_MS / SHORTEST_MS) ** random()
    await server.text(`/plant/${wanted[i % wanted.length]}?ms=${Math.round(ms)}`)
    await sleep(100 + 200 * random())
    if ((i + 1) % PART === 0) {
      keep({ planted: figures(await found()) })
      console.error(`${i + 1} of ${before + count} stalls`)
    }
  }
  clearInterval(others)
  await sleep(500)
  const all = await found()
  server.stop()
  say(all)
  return figures(all)
}

function say({ forms, elsewhere, sentences }: Judged): void {
  for (const sentence of sentences) console.error(`wrong: ${sentence}`)
  console.table({ ...forms, all: sumOf({ forms }) })
  console.log(`${elsewhere.named} other records have a place, of which ${elsewhere.wrong} did not run meanwhile`)
}

async function costs(files: readonly string[]): Promise<CostFigures> {
  const cores = coresOf(allowedCores())
  if (cores !== undefined) pinSelf(cores.lab)
  const seconds = options.whole('seconds')
  const rest = await restOf(files, seconds, cores?.server)
  const pairs: Pair[] = []
  for (let i = 0; i < options.whole('pairs'); i++) pairs.push(await pairOf(files, i, cores?.server))
  const of = (name: keyof Turn): Ratio => ratioOf(pairs.map(({ off, on }) => [off[name], on[name]]))
  const ratios = { cpuUs: of('cpuUs'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms') }
  const figures = { ...where, seconds, rate: RATE, pairs: pairs.length, rest, ...ratios }
  console.log(JSON.stringify(figures, null, 2))
  return figures
}

async function restOf(
  files: readonly string[],
  seconds: number,
  core: number | undefined,
): Promise<CostFigures['rest']> {
  const { off, on } = await startBoth(files, core)
  const both = [off, on] as const
  await Promise.all(both.map(server => server.text('/quick')))
  await sleep(SETTLES_MS)
  const before = await Promise.all(both.map(server => server.json<Usage>('/usage')))
  await sleep(seconds * 1000)
  const after = await Promise.all(both.map(server => server.json<Usage>('/usage')))
  for (const server of both) server.stop()
  const [offShare, onShare] = after.map(({ cpuMs }, i) => (cpuMs - before[i]!.cpuMs) / (seconds * 1000)) as [
    number,
    number,
  ]
  const more = (key: 'rss' | 'privateMb'): number => after[1]![key] - after[0]![key]
  const [none, least] = await Promise.all([leastOf('none', seconds, core), leastOf('both', seconds, core)])
  return {
    ...{ offShare, onShare, rssMb: more('rss'), ownMb: more('privateMb') },
    leastShare: (least.cpuMs - none.cpuMs) / (seconds * 1000),
    leastMb: least.privateMb - none.privateMb,
  }
}

async function leastOf(kind: 'none' | 'both', seconds: number, core: number | undefined): Promise<Omit<Usage, 'rss'>> {
  const [command, ...args] = pinned([values.node, join(FOLDER, 'least.mjs'), kind, String(seconds)], core)
  const child = spawn(command!, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  running.add(child)
  const [usage] = (await once(child, 'message')) as [Omit<Usage, 'rss'>]
  running.delete(child)
  return usage
}

/** Medians of the turns of two new processes. */
interface Pair {
  readonly off: Turn
  readonly on: Turn
}

async function pairOf(files: readonly string[], index: number, core: number | undefined): Promise<Pair> {
  const { off, on } = await startBoth(files, core)
  // V8 compiles in the first turns.
  for (const server of [off, on]) await turn(server)
  const turns: { readonly off: Turn[]; readonly on: Turn[] } = { off: [], on: [] }
  for (let i = index; i < index + TURNS; i++) {
    // The servers alternate in going first.
    for (const name of i % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const)) {
      turns[name].push(await turn(name === 'off' ? off : on))
    }
  }
  for (const server of [off, on]) server.stop()
  return { off: medianOf(turns.off), on: medianOf(turns.on) }
}

function medianOf(turns: readonly Turn[]): Turn {
  const of = (name: keyof Turn): number =>
    quantile(
      turns.map(each => each[name]),
      0.5,
    )
  return { cpuUs: of('cpuUs'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms') }
}

async function startBoth(files: readonly string[], core: number | undefined): Promise<{ off: Server; on: Server }> {
  const off = await start(files, {}, core)
  return { off, on: await start(files, { MELTPROOF_CULPRIT: 'on' }, core) }
}

interface Turn {
  /** CPU of the process per request, us. */
  readonly cpuUs: number
  readonly p50Ms: number
  readonly p99Ms: number
}

async function turn(server: Server): Promise<Turn> {
  const { cpuMs: from } = await server.json<Usage>('/usage')
  const load = { url: `${server.origin}/quick`, rate: RATE, durationMs: TURN_MS, connections: 50 }
  const { okLatency } = await runLoad(planOf({ ...load, spacing: 'poisson', timeoutMs: 10_000 }))
  const { cpuMs: to } = await server.json<Usage>('/usage')
  return {
    cpuUs: (1000 * (to - from)) / okLatency.count,
    p50Ms: okLatency.smoothPercentile(50),
    p99Ms: okLatency.smoothPercentile(99),
  }
}

function ratioOf(pairs: readonly (readonly [off: number, on: number])[]): Ratio {
  const ratios = pairs.map(([off, on]) => on / off)
  return {
    off: quantile(
      pairs.map(([off]) => off),
      0.5,
    ),
    on: quantile(
      pairs.map(([, on]) => on),
      0.5,
    ),
    ratio: quantile(ratios, 0.5),
    quartiles: [quantile(ratios, 0.25), quantile(ratios, 0.75)],
  }
}

interface Server {
  readonly origin: string
  text(path: string): Promise<string>
  json<T>(path: string): Promise<T>
  stop(): void
}

/** Starts a server on `core`. If it is undefined, the scheduler chooses the core. */
async function start(
  files: readonly string[],
  variables: Readonly<Record<string, string>>,
  core?: number,
): Promise<Server> {
  const node = [values.node, '--import', 'meltproof/register', join(FOLDER, 'planted-server.mjs'), ...files]
  const [command, ...args] = pinned(node, core)
  const child = spawn(command!, args, {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  running.add(child)
  let lastLines = ''
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    lastLines = (lastLines + chunk).slice(-1000)
  })
  const ended = once(child, 'exit').then(([code, signal]) => {
    running.delete(child)
    if (signal !== 'SIGTERM') console.error(`The server ended with ${code ?? signal}. ${lastLines}`)
  })
  const [message] = (await Promise.race([once(child, 'message'), ended.then(() => [])])) as [{ port: number }?]
  if (message === undefined) throw new Error('The server did not start.')
  const { port } = message
  const text = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      get({ port, host: '127.0.0.1', path, agent }, response => {
        let body = ''
        response.setEncoding('utf8').on('data', chunk => {
          body += chunk
        })
        response.on('end', () => resolve(body))
      }).on('error', error => reject(new Error(`${path}: ${error.message}. The server wrote: ${lastLines}`)))
    })
  return {
    origin: `http://127.0.0.1:${port}`,
    text,
    json: async path => JSON.parse(await text(path)),
    stop: () => child.kill(),
  }
}

/** Returns the paths of the compiled TypeScript and of the addon. Without a C compiler, the path of the addon is ''. */
function prepare(): string[] {
  const typed = join(scratch, 'typed.mjs')
  buildSync({
    entryPoints: [join(FOLDER, 'typed.ts')],
    outfile: typed,
    sourcemap: true,
    minifyWhitespace: true,
    format: 'esm',
  })
  const addon = join(scratch, 'hold.node')
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', addon, join(FOLDER, 'hold.c')])
  } catch {
    console.error('There is no C compiler here; native addons are left out.')
    return [typed, '']
  }
  return [typed, addon]
}

/** Seeded random numbers from 0 to 1, made by the generator mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
