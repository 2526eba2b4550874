/**
 * `meltlab melt` as a new user tries it, on four apps of npm that nobody here wrote (apps/), judged by tools that are not
 * ours: the closed loop of wrk, or of autocannon where wrk is missing, has the capacity, and vegeta, which keeps its rate, shows
 * what is answered within a second at a multiple of that, of the app bare and under `meltproof/register`. About two minutes an
 * app; the machine must be quiet. Writes results/npm-verdicts.json and .md unless --dry.
 *
 *   node bench/npm-verdicts.ts [json-server nestjs ...] [--note "nestjs: it answered at 1x, and stood still at 4x"] [--dry]
 *   node bench/npm-verdicts.ts --table [--note ...]     measures nothing
 *
 * --note keeps a sentence by eye for an app. Results of apps that are not named stay. A verdict is right when melt's capacity is
 * within a quarter of the closed loop's, and it says of each arm at that load what vegeta saw: melted is less than half of the
 * capacity, held at least nine tenths. Ends with 3 when one is wrong.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AppDefinition, Ask } from '../apps/runner/definition.ts'
import { install, installedFolder } from '../apps/runner/install.ts'
import { freePort } from '../apps/runner/lab.ts'
import { start } from '../apps/runner/start.ts'
import { allowedCores, coresOf, pinned } from '../packages/lab/src/launch/core-pinning.ts'
import type { MeltMeasured } from '../packages/lab/src/melt/measured.ts'
import type { ScenarioResult } from '../packages/lab/src/report/result.ts'
import { keptOf, toneOf } from '../packages/lab/src/report/standing.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { sayBars } from './lib/bars.ts'
import { headersOf, withAutocannon, withWrk } from './lib/closed-loop.ts'
import { conditions } from './lib/conditions.ts'
import { LOAD_TOOLS, versionOf } from './lib/load-tools.ts'
import { type AppVerdict, type ArmVerdict, type NpmVerdicts, notesOf, verdictsPage } from './lib/npm-verdicts-page.ts'

const APPS = ['json-server', 'graphql-yoga', 'nestjs', 'node-red']
/** Times the capacity. */
const LOAD = 4
const SECONDS = 6
const WITHIN = 0.25
const LAB = join(import.meta.dirname, '../packages/lab/bin/meltlab.js')
const FILE = join(import.meta.dirname, 'results/npm-verdicts.json')

const { operands, values, refuse } = scriptOptions(
  import.meta.filename,
  {
    table: { type: 'boolean', default: false },
    note: { type: 'string', multiple: true, default: [] },
    dry: { type: 'boolean', default: false },
  },
  { takesOperands: true },
)
const cores = coresOf(allowedCores()) ?? refuse('this needs two cores and taskset')
const before: NpmVerdicts | undefined = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : undefined

const outside = (command: readonly string[], input?: string): Buffer => {
  const [program, ...args] = pinned([...command], cores.lab)
  return execFileSync(program!, args, { input, maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'ignore'] })
}

const versionHere = (name: string): string | undefined => versionOf(LOAD_TOOLS.find(each => each.name === name)!)
const wrk = versionHere('wrk')
const tool = wrk === undefined ? `autocannon ${versionHere('autocannon')}` : `wrk ${wrk}`
if (!values.table && versionHere('vegeta') === undefined) refuse('vegeta is not here')

/** Answers 2xx and 3xx, a second. */
function closedLoop(url: string, ask: Ask, seconds: number): number {
  return (wrk === undefined ? withAutocannon : withWrk)({ url, ask, seconds }, outside)
}

/** Answers 2xx within a second, a second. */
function openLoop(url: string, ask: Ask, rate: number, folder: string): number {
  const body = join(folder, 'body')
  writeFileSync(body, ask.body ?? '')
  const target = [`${ask.method ?? 'GET'} ${url}`, ...headersOf(ask), ...(ask.body === undefined ? [] : [`@${body}`])]
  const attack = ['attack', '-rate', `${Math.round(rate)}/1s`, '-duration', `${SECONDS}s`, '-timeout', '3s']
  const results = outside(
    ['vegeta', ...attack, '-connections', '500', '-max-connections', '2000'],
    `${target.join('\n')}\n`,
  )
  const lines = execFileSync('vegeta', ['encode', '--to', 'csv'], { input: results, maxBuffer: 1 << 28 }).toString()
  const good = lines.split('\n').filter(line => {
    const [, status, latencyNs] = line.split(',')
    return /^[23]/.test(status ?? '') && Number(latencyNs) <= 1e9
  })
  return good.length / SECONDS
}

async function examine(name: string): Promise<AppVerdict> {
  const where = conditions()
  const { app: definition } = (await import(`../apps/${name}/app.ts`)) as { app: AppDefinition }
  await install(name, definition.build ?? [], text => console.error(text))
  const ask = definition.dearest as Ask
  const folder = mkdtempSync(join(tmpdir(), 'meltproof-npm-'))
  const { signal } = new AbortController()
  const withApp = async <T>(arm: 'bare' | 'register', act: (url: string) => T): Promise<T> => {
    const running = await start(name, definition, arm, { pinning: cores, signal })
    try {
      closedLoop(running.origin + ask.path, ask, 3) // V8 compiles
      return act(running.origin + ask.path)
    } finally {
      await running.stop()
    }
  }
  const capacity = await withApp('bare', url => closedLoop(url, ask, SECONDS))
  const seen = {
    bare: await withApp('bare', url => openLoop(url, ask, LOAD * capacity, folder)),
    protected: await withApp('register', url => openLoop(url, ask, LOAD * capacity, folder)),
  }
  const result = melt(name, definition, ask, await freePort(), folder)
  rmSync(folder, { recursive: true, force: true })
  const { measured, standings = [], finding } = result
  const arm = (which: 'bare' | 'protected'): ArmVerdict => {
    const row = measured.rows.find(each => each.arm === which && each.multiple === LOAD)!
    const says = standings.find(each => each.arm === which)!.says
    return { vegeta: seen[which] / capacity, melt: keptOf(row), says }
  }
  const [bare, guarded] = [arm('bare'), arm('protected')]
  const rate = measured.capacity!.rate
  const agrees = ({ vegeta, melt: share, says }: ArmVerdict): boolean =>
    says !== 'no verdict' && toneOf(vegeta) === toneOf(share)
  const isNear = Math.max(rate / capacity, capacity / rate) <= 1 + WITHIN
  return {
    ...{ ...where, name, app: definition.title, request: `${ask.method ?? 'GET'} ${ask.path}` },
    ...{ tool, closedLoop: capacity, melt: rate },
    ...{ bare, protected: guarded, finding, right: isNear && agrees(bare) && agrees(guarded) },
  }
}

function melt(name: string, { run, env = {} }: AppDefinition, ask: Ask, port: number, folder: string) {
  const fill = (text: string): string => text.replaceAll('{port}', String(port)).replaceAll('{data}', folder)
  const filled = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, fill(value)]))
  const args = ['melt', '--json', '--quick', '--at', `0.5,${LOAD}`, '--start-timeout', '60s', '--path', ask.path]
  args.push('--method', ask.method ?? 'GET', '--out', folder)
  for (const header of headersOf(ask)) args.push('--header', header)
  if (ask.body !== undefined) args.push('--body', ask.body)
  const command = [process.execPath, ...run.map(fill)]
  const said = execFileSync(process.execPath, [LAB, ...args, '--', ...command], {
    cwd: installedFolder(name),
    env: { ...process.env, NODE_ENV: 'production', HOST: '127.0.0.1', PORT: String(port), DATA: folder, ...filled },
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(said.toString()) as ScenarioResult & { readonly measured: MeltMeasured }
}

const wanted = values.table ? [] : operands.length > 0 ? operands : APPS
const apps = new Map((before?.apps ?? []).map(each => [each.name, each]))
const notes = readNotes()
for (const name of wanted) {
  const verdict = await examine(name)
  console.error(JSON.stringify(verdict, null, 2))
  apps.set(verdict.name, verdict)
}
for (const [name, note] of notes) apps.set(name, { ...apps.get(name)!, note })
const result: NpmVerdicts = { load: LOAD, apps: [...apps.values()] }
sayBars(result.apps.filter(({ right }) => !right).map(({ app }) => `the verdict on ${app} is wrong`))
if (!values.dry) {
  writeFileSync(FILE, `${JSON.stringify(result, null, 2)}\n`)
  writeFileSync(FILE.replace('.json', '.md'), verdictsPage(result))
}

function readNotes(): ReadonlyMap<string, string> {
  try {
    return notesOf(values.note, [...apps.keys(), ...wanted])
  } catch (error) {
    return refuse((error as Error).message)
  }
}
