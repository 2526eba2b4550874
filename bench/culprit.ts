/**
 * Who held the event loop? Plants stalls of 100 ms to 3 s in fifteen forms in a server under register with
 * MELTPROOF_CULPRIT=on, and compares what it names with the line that the server's own source marks.
 *
 *   node bench/culprit.ts [--count 500] [--seed 1] [--node PATH] [--only FORM]
 *   node bench/culprit.ts --costs [--seconds 60]
 *
 * Right is the file and the line (or a range of lines that is the planted line alone); unknown is `unknown` or no record
 * at all; anything else is wrong. --costs measures two such servers side by side, one of them without MELTPROOF_CULPRIT: at
 * rest, then the CPU of a request, in blocks that alternate.
 *
 * Bars: 95 % right, none wrong; at rest 0.5 % of a core and 4 MB; a request costs at most 1.01 times as much.
 */
import { execFileSync, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildSync } from 'esbuild'
import { scriptOptions } from '../scripts/script-options.ts'

const FOLDER = resolve(import.meta.dirname, 'lib/culprit')
const [SHORTEST_MS, LONGEST_MS] = [100, 3000]
const BLOCK = 1000
const BLOCKS = 30

const options = scriptOptions(import.meta.filename, {
  count: { type: 'string', default: '500' },
  seed: { type: 'string', default: '1' },
  node: { type: 'string', default: process.execPath },
  only: { type: 'string' },
  costs: { type: 'boolean', default: false },
  seconds: { type: 'string', default: '60' },
})

interface Planted {
  readonly form: string
  readonly fromMs: number
  readonly toMs: number
  readonly route: string
  readonly file: string
  readonly line: number
}

interface Culprit {
  readonly fromMs: number
  readonly toMs: number
  readonly place: string
  readonly file?: string
  readonly line?: number
  readonly route?: string
}

interface Report {
  readonly stalls: readonly Planted[]
  readonly culprits: readonly Culprit[]
  readonly forms: readonly string[]
}

interface Usage {
  readonly cpuMs: number
  readonly rss: number
  readonly privateMb: number
}

const agent = new Agent({ keepAlive: true, maxSockets: 50 })
const scratch = mkdtempSync(join(tmpdir(), 'meltproof-culprit-'))
try {
  const files = prepare()
  if (options.values.costs) await costs(files)
  else await plant(files)
} finally {
  rmSync(scratch, { recursive: true, force: true })
  agent.destroy()
}

async function plant(files: readonly string[]): Promise<void> {
  const server = await start(files, { MELTPROOF_CULPRIT: 'on' })
  const { forms } = await server.json<Report>('/report')
  const random = randomOf(options.whole('seed'))
  const count = options.whole('count')
  const wanted = options.values.only === undefined ? forms : [options.values.only]
  // Other requests: some are in the same turn as a stall, and some wait for its end.
  const others = setInterval(() => void server.text('/quick'), 50)
  await sleep(2000)
  for (let i = 0; i < count; i++) {
    const ms = SHORTEST_MS * (LONGEST_MS / SHORTEST_MS) ** random()
    await server.text(`/plant/${wanted[i % wanted.length]}?ms=${Math.round(ms)}`)
    await sleep(100 + 200 * random())
  }
  clearInterval(others)
  await sleep(500)
  const report = await server.json<Report>('/report')
  server.stop()
  say(report)
}

function say({ stalls, culprits }: Report): void {
  const counts = new Map<string, Record<string, number>>()
  for (const stall of stalls) {
    // Some take less than they should.
    if (stall.toMs - stall.fromMs < SHORTEST_MS) continue
    const found = culprits.filter(culprit => overlapMs(stall, culprit) > (culprit.toMs - culprit.fromMs) / 2)
    const named = found.filter(({ file }) => file !== undefined)
    const isWrong = ({ file, line, place }: Culprit): boolean =>
      file !== stall.file || line !== stall.line || /:\d+-\d+/.test(place)
    const wrong = named.filter(isWrong)
    const verdict = wrong.length > 0 ? 'wrong' : named.length > 0 ? 'right' : 'unknown'
    const wrongRoute = named.some(({ route }) => route !== undefined && route !== stall.route)
    const route = named.some(({ route }) => route === stall.route) ? 'right route' : 'no route'
    for (const form of [stall.form, 'all']) {
      const row = counts.get(form) ?? {}
      counts.set(form, row)
      for (const key of [verdict, wrongRoute ? 'wrong route' : route]) row[key] = (row[key] ?? 0) + 1
    }
    if (wrong.length > 0) {
      console.error(
        `${stall.form}, ${Math.round(stall.toMs - stall.fromMs)} ms, line ${stall.line}: ${wrong[0]!.place}`,
      )
    } else if (verdict === 'unknown') {
      const records = found.map(({ fromMs, toMs, place }) => `${Math.round(toMs - fromMs)} ms ${place}`).join('; ')
      console.error(`${stall.form}, ${Math.round(stall.toMs - stall.fromMs)} ms: ${records || 'no record'}`)
    }
  }
  console.table(Object.fromEntries([...counts].sort(([a], [b]) => Number(a === 'all') - Number(b === 'all'))))
}

function overlapMs(a: Planted, b: Culprit): number {
  return Math.min(a.toMs, b.toMs) - Math.max(a.fromMs, b.fromMs)
}

async function costs(files: readonly string[]): Promise<void> {
  const bare = await start(files, {})
  const watched = await start(files, { MELTPROOF_CULPRIT: 'on' })
  const both = [bare, watched]
  await Promise.all(both.map(server => server.text('/quick')))
  await sleep(15_000)
  const seconds = options.whole('seconds')
  const before = await Promise.all(both.map(server => server.json<Usage>('/usage')))
  await sleep(seconds * 1000)
  const after = await Promise.all(both.map(server => server.json<Usage>('/usage')))
  const shares = after.map(({ cpuMs }, i) => (cpuMs - before[i]!.cpuMs) / seconds / 10)
  const rest = (key: 'rss' | 'privateMb'): string => (after[1]![key] - after[0]![key]).toFixed(1)
  console.log(`at rest: ${shares[1]!.toFixed(2)} % of a core, ${shares[0]!.toFixed(2)} % without`)
  console.log(`at rest: ${rest('rss')} MB of rss more, of which it alone has ${rest('privateMb')} MB`)
  const ratios: number[] = []
  for (let i = 0; i < BLOCKS; i++) {
    const used: number[] = []
    for (const which of i % 2 === 0 ? [0, 1] : [1, 0]) used[which] = await block(both[which]!)
    // The first requests compile.
    if (i >= BLOCKS / 5) ratios.push(used[1]! / used[0]!)
  }
  ratios.sort((a, b) => a - b)
  const at = (share: number): string => ratios[Math.floor(ratios.length * share)]!.toFixed(3)
  console.log(`CPU of a request: ${at(0.5)} times (quartiles ${at(0.25)} to ${at(0.75)})`)
  for (const server of both) server.stop()
}

/** CPU of a number of requests, ms. */
async function block(server: Server): Promise<number> {
  const { cpuMs: from } = await server.json<Usage>('/usage')
  for (let i = 0; i < BLOCK; i += 20) await Promise.all(Array.from({ length: 20 }, () => server.text('/quick')))
  const { cpuMs: to } = await server.json<Usage>('/usage')
  return to - from
}

interface Server {
  text(path: string): Promise<string>
  json<T>(path: string): Promise<T>
  stop(): void
}

async function start(files: readonly string[], variables: Readonly<Record<string, string>>): Promise<Server> {
  const child = fork(join(FOLDER, 'planted-server.mjs'), files, {
    execPath: options.values.node,
    execArgv: ['--import', 'meltproof/register'],
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'inherit', 'ignore', 'ipc'],
  })
  const { port } = await new Promise<{ port: number }>((resolve, reject) => {
    child.once('message', message => resolve(message as { port: number }))
    child.once('exit', code => reject(new Error(`The server ended with ${code}.`)))
  })
  child.once('exit', (code, signal) => {
    if (signal !== 'SIGTERM') console.error(`The server ended with ${code ?? signal}.`)
  })
  const text = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      get({ port, host: '127.0.0.1', path, agent }, response => {
        let body = ''
        response.setEncoding('utf8').on('data', chunk => {
          body += chunk
        })
        response.on('end', () => resolve(body))
      }).on('error', reject)
    })
  return { text, json: async path => JSON.parse(await text(path)), stop: () => child.kill() }
}

/** The compiled TypeScript, and the addon: empty where there is no C compiler. */
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

/** mulberry32 */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
