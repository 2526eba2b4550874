/**
 * Does the interval that `meltlab attack` reports contain the truth? Makes up to twenty runs on one server, with and
 * without a dedicated core for the generator, at 500 and 1,000 requests a second, alternating with vegeta. Each --core
 * takes about two minutes; the machine must be quiet. Writes results/interval-truth.json, where runs of the same code
 * with the other --core stay.
 *
 *   node bench/interval-truth.ts --core own|any [--runs 5] [--seconds 4] [--dry]
 *
 * The truth is the latency that a generator would measure if it disturbed nothing. No tool can measure it, but it has
 * bounds. An answer takes at least the time that the server itself counts from request to answer, because the server
 * does not see the wait in its socket. It takes at most the time that vegeta measures, which includes vegeta's own
 * lateness. Both bounds come from the runs of vegeta just before and just after, so that delay which the lab's
 * generator causes in the server does not count as the server's own.
 *
 * A run misses if its interval for p50, p90 or p99 does not overlap these bounds. The interval certainly contains the
 * truth when it contains both bounds. The script counts these runs too, but this count is too low, because vegeta's
 * lateness makes the bounds too wide.
 *
 * The bar: at most one run of twenty misses. Exit code 3 when more do.
 *
 * A run in which other processes used a tenth of a core or more is repeated. At most --runs runs are repeated at each
 * rate.
 *
 * --core   own: the server and the generators have one core each; any: the scheduler chooses
 * --runs   runs of the lab at each rate
 * --dry    prints and writes nothing
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { allowedCores, coresOf, pinned } from '../packages/lab/src/launch/core-pinning.ts'
import { MAX_FOREIGN_CORES, watchForeign } from '../packages/lab/src/processes/foreign-cpu.ts'
import { writeWhole } from '../packages/lab/src/write-whole.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { printMissedBars } from './lib/bars.ts'
import { type Conditions, conditions } from './lib/conditions.ts'
import { FIGURES, judged, type Of, type Range } from './lib/interval-figures.ts'
import { LOAD_TOOLS, type LoadTool, versionOf } from './lib/load-tools.ts'
import { extendable, readResult, resultFile, together } from './lib/parts.ts'

const CONNECTIONS = 50
const RATES = [500, 1000]
/** Minimum share of runs whose interval may contain the truth. */
const LEAST_HELD = 0.95

interface Bound {
  /** Counted by the server. */
  readonly own: Of<number>
  /** Measured by vegeta. */
  readonly seen: Of<number>
}

interface Run {
  readonly pinned: boolean
  readonly rate: number
  /** From the latency without the delay of the generator to the measured latency, ms. */
  readonly interval: Of<Range>
  /** Lower and upper bound, ms. */
  readonly truth: Of<Range>
  readonly certificate: string
  /** Cores that other processes used during the run, on average. */
  readonly foreign: number
  /** The truth may lie in each interval: each overlaps the bounds. */
  readonly holds: boolean
  /** The truth certainly lies in each interval: each contains the bounds. */
  readonly contains: boolean
}

export interface IntervalTruth extends Conditions {
  readonly vegeta: string
  readonly seconds: number
  readonly held: number
  readonly contained: number
  readonly runs: readonly Run[]
  readonly missed: readonly string[]
}

const options = scriptOptions(import.meta.filename, {
  core: { type: 'string' },
  runs: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '4' },
  dry: { type: 'boolean', default: false },
})
const [each, seconds] = [options.whole('runs'), options.whole('seconds')]
const tool = (name: string): LoadTool => LOAD_TOOLS.find(known => known.name === name)!
const [lab, vegeta] = [tool('meltlab attack'), tool('vegeta')]
const version = versionOf(vegeta) ?? options.refuse(`vegeta is not here; get it by: ${vegeta.from}`)
const where = conditions()
const cores = coresOf(allowedCores()) ?? options.refuse('this needs two cores and taskset')

async function say(of: LoadTool, url: string, rate: number, core: number | undefined): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-interval-'))
  const asked = { url, rate, seconds, connections: CONNECTIONS }
  const [command, ...rest] = pinned([...of.command(asked, folder)], core)
  try {
    return (await promisify(execFile)(command!, rest, { maxBuffer: 1 << 26 })).stdout
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function ownOf(url: string): Promise<Of<number>> {
  const [answer] = (await once(get(`${url}own`, { agent: false }), 'response')) as [AsyncIterable<Buffer>]
  let text = ''
  for await (const part of answer) text += part
  return JSON.parse(text) as Of<number>
}

async function boundOf(url: string, rate: number, core: number | undefined): Promise<Bound> {
  await ownOf(url)
  const { p50, p90, p99 } = vegeta.read(await say(vegeta, url, rate, core))
  return { own: await ownOf(url), seen: { p50: p50!, p90: p90!, p99: p99! } }
}

interface Attack {
  readonly certificate: { readonly code: string; readonly intervals: { readonly ok: Of<Range> } }
}

function runOf(rate: number, { certificate }: Attack, bounds: readonly Bound[], foreign: number): Run {
  const of = <T>(read: (figure: (typeof FIGURES)[number]) => T): Of<T> =>
    Object.fromEntries(FIGURES.map(figure => [figure, read(figure)])) as unknown as Of<T>
  const interval = of(figure => certificate.intervals.ok[figure])
  const truth = of(figure => {
    const least = Math.min(...bounds.map(({ own }) => own[figure]))
    return [least, Math.max(...bounds.map(({ seen }) => seen[figure]))] as const
  })
  return { pinned: isPinned, rate, interval, truth, certificate: certificate.code, foreign, ...judged(interval, truth) }
}

const { values } = options
if (values.core !== 'own' && values.core !== 'any') options.refuse('--core must be own or any')
const isPinned = values.core === 'own'
const core = isPinned ? cores.lab : undefined
const [command, ...rest] = pinned(
  [process.execPath, join(import.meta.dirname, 'lib/interval-server.mjs')],
  isPinned ? cores.server : undefined,
)
const server = spawn(command!, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
const [port] = (await once(server.stdout, 'data')) as [Buffer]
const url = `http://127.0.0.1:${Number(port.toString())}/`
const made: Run[] = []
for (const rate of RATES) {
  await boundOf(url, rate, core) // Not counted, because V8 compiles in it.
  let before = await boundOf(url, rate, core)
  for (let [run, quiet] = [0, 0]; run < 2 * each && quiet < each; run++) {
    const watching = watchForeign(allowedCores())
    const said = JSON.parse(await say(lab, url, rate, core)) as Attack
    const after = await boundOf(url, rate, core)
    const foreign = (await watching.stop())?.mean ?? 1
    const one = runOf(rate, said, [before, after], foreign)
    console.error(JSON.stringify(one))
    before = after
    if (foreign >= MAX_FOREIGN_CORES) continue
    quiet++
    made.push(one)
  }
}
server.kill('SIGKILL')
if (made.length === 0) {
  console.error('others used a tenth of a core or more in each run; nothing is written')
  process.exit(1)
}

const settings = { vegeta: version, seconds }
const earlier = extendable(readResult<IntervalTruth>('interval-truth'), where, settings)
const runs = [...(earlier?.runs ?? []).filter(run => run.pinned !== isPinned), ...made]
const held = runs.filter(({ holds }) => holds).length
const contained = runs.filter(({ contains }) => contains).length
const inWords = `in ${held} of ${runs.length} runs the truth may lie in the interval`
console.log(`${inWords}; in ${contained} it certainly does`)
const missed = held >= LEAST_HELD * runs.length ? [] : [inWords]
printMissedBars(missed)
const result: IntervalTruth = { ...together(earlier, where), ...settings, held, contained, runs, missed }
if (!values.dry) writeWhole(resultFile('interval-truth'), `${JSON.stringify(result, null, 2)}\n`)
