/**
 * Compares meltlab's generator with other load tools, on one server, alternating: the latencies that each reports for a
 * server that stops for two seconds, those for a quiet server at 1,000/s, and the number of requests that each tool can
 * send with one core. Writes results/load-tools.json; bench/write-generator.ts makes the page. Missing tools are
 * skipped and reported.
 *
 *   node bench/load-tools.ts [rounds]
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pinned } from '../packages/lab/src/launch/core-pinning.ts'
import { type Conditions, conditions } from './lib/conditions.ts'
import { type Asked, LOAD_TOOLS, type LoadTool, type ReportedFigures, versionOf } from './lib/load-tools.ts'
import { median, pinning } from './lib/measured-server.ts'

/** Figures of one run. */
interface Made extends ReportedFigures {
  /** User and system CPU per request of the tool and its children, us. */
  readonly cpuUs: number
  /** Requests per second over the duration it was asked to run. */
  readonly perSecond: number
}

const CASES = {
  /** The server stops from 4 s to 6 s of 10 s: at a constant rate, every fifth request waits, up to 2 s. */
  stop: { rate: 200, seconds: 10, connections: 50, server: ['4000', '2000'] },
  quiet: { rate: 1000, seconds: 5, connections: 50, server: [] },
  most: { rate: undefined, seconds: 5, connections: 50, server: [] },
} as const
export type CaseName = keyof typeof CASES

export interface ToolResult {
  readonly name: string
  readonly version: string
  readonly keepsRate: boolean
  /** Medians of the rounds. */
  readonly made: Readonly<Record<CaseName, Made>>
}

export interface LoadToolsResult extends Conditions {
  readonly rounds: number
  readonly tools: readonly ToolResult[]
  readonly missing: readonly { readonly name: string; readonly from: string }[]
}

async function withServer<T>(args: readonly string[], act: (url: string) => Promise<T>): Promise<T> {
  const script = join(import.meta.dirname, 'lib/raw-server.mjs')
  const [command, ...rest] = pinned([process.execPath, '--no-deprecation', script, ...args], pinning?.server)
  const server = spawn(command!, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [port] = (await once(server.stdout, 'data')) as [Buffer]
    return await act(`http://127.0.0.1:${Number(port.toString())}/`)
  } finally {
    server.kill('SIGKILL')
  }
}

/** Runs the tool from a shell, whose `times` then prints the CPU of the tool. */
async function run(tool: LoadTool, asked: Asked): Promise<Made> {
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-load-tools-'))
  try {
    const times = join(folder, 'times')
    const script = '"$@"; status=$?; times >"$0"; exit $status'
    const [command, ...rest] = pinned(['bash', '-c', script, times, ...tool.command(asked, folder)], pinning?.lab)
    const { stdout } = await promisify(execFile)(command!, rest, { maxBuffer: 1 << 26, timeout: 60_000 })
    const said = tool.read(stdout)
    return {
      ...said,
      cpuUs: (cpuSeconds(readFileSync(times, 'utf8')) * 1e6) / said.requests,
      perSecond: said.requests / asked.seconds,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `times` prints a line of its own user and system time and a line of its children's, as `0m1.234s 0m0.567s`. */
function cpuSeconds(times: string): number {
  const children = times.trim().split('\n')[1] ?? ''
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + Number(m) * 60 + Number(s), 0)
}

function medians(all: readonly Made[]): Made {
  const of = (read: (made: Made) => number | undefined): number | undefined => {
    const values = all.map(read).filter(value => value !== undefined)
    return values.length === 0 ? undefined : median(values)
  }
  return {
    requests: of(made => made.requests)!,
    p50: of(made => made.p50),
    p90: of(made => made.p90),
    p99: of(made => made.p99),
    max: of(made => made.max),
    cpuUs: of(made => made.cpuUs)!,
    perSecond: of(made => made.perSecond)!,
  }
}

const rounds = Number(process.argv[2] ?? 3)
if (!Number.isInteger(rounds) || rounds < 1)
  throw new Error(`rounds must be a whole number from 1 on; got ${process.argv[2]}`)
const where = conditions()
const versions = new Map(LOAD_TOOLS.map(tool => [tool, versionOf(tool)]))
const here = LOAD_TOOLS.filter(tool => versions.get(tool) !== undefined)
const missing = LOAD_TOOLS.filter(tool => !here.includes(tool)).map(({ name, from }) => ({ name, from }))
for (const { name, from } of missing) console.error(`${name} is not here; get it by: ${from}`)

const made = new Map(here.map(tool => [tool, { stop: [] as Made[], quiet: [] as Made[], most: [] as Made[] }]))
for (let round = 0; round < rounds; round++) {
  for (const name of Object.keys(CASES) as CaseName[]) {
    for (const tool of here) {
      const { server, ...asked } = CASES[name]
      const one = await withServer(server, url => run(tool, { ...asked, url }))
      made.get(tool)![name].push(one)
      console.error(`round ${round + 1}, ${name}, ${tool.name}: ${JSON.stringify(one)}`)
    }
  }
}
const tools = here.map(tool => {
  const { stop, quiet, most } = made.get(tool)!
  return {
    name: tool.name,
    version: versions.get(tool)!,
    keepsRate: tool.keepsRate,
    made: { stop: medians(stop), quiet: medians(quiet), most: medians(most) },
  }
})
const result: LoadToolsResult = { ...where, rounds, tools, missing }
writeFileSync(join(import.meta.dirname, 'results/load-tools.json'), `${JSON.stringify(result, null, 2)}\n`)
