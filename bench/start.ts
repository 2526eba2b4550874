/**
 * Measures the cost of meltproof at the start of a process: CPU and memory of whole processes, from the first
 * instruction to their end, compared with the same process without it. Medians of rounds; each round runs every arm
 * once.
 *
 *   --rounds N        (9)
 *   --meltproof DIR   another build of packages/meltproof, to compare with
 *   --print           only prints; otherwise writes bench/results/start.json and docs/costs.md
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions, spreadOf } from './lib/conditions.ts'
import { type Start, type StartFigures, startSection } from './lib/cost-sections.ts'
import { writeCosts } from './lib/write-costs.ts'

interface Arm {
  readonly node?: readonly string[]
  readonly app: string
  readonly env?: Readonly<Record<string, string>>
  /** The arm to which this one is compared. */
  readonly over?: string
}

const { values, whole } = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '9' },
  meltproof: { type: 'string', default: join(import.meta.dirname, '../packages/meltproof') },
  print: { type: 'boolean', default: false },
})
const rounds = whole('rounds')
const dist = join(resolve(values.meltproof), 'dist')
const apps = join(import.meta.dirname, 'lib/start')
const url = (file: string): string => pathToFileURL(join(dist, file)).href
const empty = join(apps, 'empty.cjs')
const byImport = ['--import', url('register.js')]
const byRequire = ['--require', join(dist, 'cjs/register.js')]

const ARMS: Readonly<Record<string, Arm>> = {
  'no server': { app: 'empty.cjs' },
  'no server, `--require` of an empty file': { app: 'empty.cjs', node: ['--require', empty], over: 'no server' },
  'no server, `--require meltproof/register`': { app: 'empty.cjs', node: byRequire, over: 'no server' },
  'no server, `--import` of an empty file': {
    app: 'empty.cjs',
    node: ['--import', pathToFileURL(empty).href],
    over: 'no server',
  },
  'no server, `--import meltproof/register`': { app: 'empty.cjs', node: byImport, over: 'no server' },
  'no server, the same with `MELTPROOF=off`': {
    app: 'empty.cjs',
    node: byImport,
    env: { MELTPROOF: 'off' },
    over: 'no server',
  },
  'a server in CommonJS': { app: 'server.cjs' },
  'a server in CommonJS, `protect()`': {
    app: 'server.cjs',
    env: { PROTECT: join(dist, 'cjs/index.js') },
    over: 'a server in CommonJS',
  },
  'a server in CommonJS, `--require meltproof/register`': {
    app: 'server.cjs',
    node: byRequire,
    over: 'a server in CommonJS',
  },
  'a server in CommonJS, `--import meltproof/register`': {
    app: 'server.cjs',
    node: byImport,
    over: 'a server in CommonJS',
  },
  'a server as an ES module': { app: 'server.mjs' },
  'a server as an ES module, `protect()`': {
    app: 'server.mjs',
    env: { PROTECT: url('index.js') },
    over: 'a server as an ES module',
  },
  'a server as an ES module, `--import meltproof/register`': {
    app: 'server.mjs',
    node: byImport,
    over: 'a server as an ES module',
  },
  "`import 'node:http'`": { app: 'imports.mjs', env: { MODULE: 'node:http' } },
  "`import 'meltproof'`": { app: 'imports.mjs', env: { MODULE: url('index.js') }, over: "`import 'node:http'`" },
  '16 worker threads': { app: 'threads.cjs' },
  '16 worker threads, `--require meltproof/register`': {
    app: 'threads.cjs',
    node: byRequire,
    over: '16 worker threads',
  },
  '16 worker threads, `--import meltproof/register`': { app: 'threads.cjs', node: byImport, over: '16 worker threads' },
}

const before = conditions()
const folder = mkdtempSync(join(tmpdir(), 'start-'))
const measured = new Map<string, StartFigures[]>(Object.keys(ARMS).map(name => [name, []]))
for (let round = 0; round < rounds; round++)
  for (const [name, arm] of Object.entries(ARMS)) measured.get(name)!.push(run(arm))
rmSync(folder, { recursive: true })

const arms = Object.fromEntries(
  [...measured].map(([name, figures]) => {
    const { over } = ARMS[name]!
    const spreadMs = spreadOf(figures.map(({ cpuMs }) => cpuMs))
    const own = { ...medians(figures), spreadMs }
    if (over === undefined) return [name, own]
    const differences = figures.map((each, i) => minus(each, measured.get(over)![i]!))
    return [name, { ...own, over, more: medians(differences) }]
  }),
) as Record<string, StartFigures & { readonly over?: string; readonly more?: StartFigures }>
const result: Start = { ...before, rounds, arms }
console.log(startSection(result))
if (!values.print) {
  const file = join(import.meta.dirname, 'results/start.json')
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`)
  writeCosts()
}

function run({ node = [], app, env = {} }: Arm): StartFigures {
  const report = join(folder, 'report.json')
  const { NODE_OPTIONS: _, ...inherited } = process.env
  execFileSync(process.execPath, ['--require', join(apps, 'report.cjs'), ...node, join(apps, app)], {
    env: { ...inherited, ...env, REPORT: report },
  })
  return JSON.parse(readFileSync(report, 'utf8')) as StartFigures
}

function minus(one: StartFigures, other: StartFigures): StartFigures {
  return {
    cpuMs: one.cpuMs - other.cpuMs,
    rssMb: one.rssMb - other.rssMb,
    privateMb: one.privateMb - other.privateMb,
  }
}

function medians(figures: readonly StartFigures[]): StartFigures {
  const median = (read: (each: StartFigures) => number): number => {
    const sorted = figures.map(read).sort((a, b) => a - b)
    return Math.round(sorted[sorted.length >> 1]! * 10) / 10
  }
  return {
    cpuMs: median(each => each.cpuMs),
    rssMb: median(each => each.rssMb),
    privateMb: median(each => each.privateMb),
  }
}
