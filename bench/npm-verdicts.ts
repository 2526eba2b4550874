/**
 * Runs `meltlab melt` like a new user, on four third-party apps from npm (apps/), and checks its verdicts with other
 * tools. The closed loop of wrk (autocannon if wrk is missing) measures the capacity several times, first and last. In
 * between, vegeta sends a constant four times that capacity to the bare app and under meltproof/register, each from a
 * cold start as in melt. Answers within a second count, once the initially empty queue has filled. An app takes three
 * to ten minutes; the machine must be quiet. Writes results/npm-verdicts.json and .md unless --dry.
 *
 *   node bench/npm-verdicts.ts [json-server nestjs ...] [--dry]
 *     [--note "nestjs: it answered at 1x, and stood still at 4x"]
 *   node bench/npm-verdicts.ts --table [--note ...]     measures nothing
 *
 * --note stores a handwritten sentence for an app. Results of apps that are not named stay. A verdict is right if
 * melt's capacity is within 10 % of the range of the closed loops, and its verdict on each arm at 4x agrees with the
 * goodput that vegeta measured: `melted` means less than half of the capacity, `held` at least nine tenths. Exit code 3
 * if a verdict is wrong, or melt gave none.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AppDefinition, Ask } from '../apps/runner/definition.ts'
import { install, installedFolder } from '../apps/runner/install.ts'
import { freePort } from '../apps/runner/lab.ts'
import { start } from '../apps/runner/start.ts'
import { allowedCores, coresOf, pinned } from '../packages/lab/src/launch/core-pinning.ts'
import type { MeltMeasured } from '../packages/lab/src/melt/measured.ts'
import type { ScenarioResult } from '../packages/lab/src/report/result.ts'
import { keptOf } from '../packages/lab/src/report/standing.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { printMissedBars } from './lib/bars.ts'
import { headersOf, withAutocannon, withWrk } from './lib/closed-loop.ts'
import { conditions } from './lib/conditions.ts'
import { LOAD_TOOLS, versionOf } from './lib/load-tools.ts'
import { type Judged, outcomeOf } from './lib/npm-verdicts-judge.ts'
import { type AppVerdict, type ArmVerdict, type NpmVerdicts, notesOf, verdictsPage } from './lib/npm-verdicts-page.ts'
import { quantile } from './lib/quantile.ts'

const APPS = ['json-server', 'graphql-yoga', 'nestjs', 'node-red']
/** Load as a multiple of the capacity. */
const LOAD = 4
/** Seconds of one closed loop, and the number of closed loops before the other measurements, and again after them. */
const SECONDS = 3
const TIMES = 4
/** Users of the closed loops, alternating, because some apps answer more with many users, and some with few. */
const USERS = [10, 100]
/** Length of a step of melt, s. An app that stays cold for long needs longer steps. */
const STEP_SECONDS: Readonly<Record<string, number>> = { 'json-server': 26 }
const USUAL_STEP_SECONDS = 6
/** Seconds of the open loop that do not count: an overloaded app answers in time until its queue has filled. */
const FILLED_AFTER = 3
/** Linux keeps a port in TIME_WAIT for a minute. */
const LONGEST_TIME_WAIT_S = 65
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

/** Answers with 2xx and 3xx per second. */
function closedLoop(url: string, ask: Ask, seconds: number, users = USERS[0]!): number {
  return (wrk === undefined ? withAutocannon : withWrk)({ url, ask, seconds, users }, outside)
}

/** Answers with 2xx and 3xx within a second, per second. */
function openLoop(url: string, ask: Ask, rate: number, stepSeconds: number, folder: string): number {
  const body = join(folder, 'body')
  writeFileSync(body, ask.body ?? '')
  // Without this header, vegeta would ask for compressed answers, and melt and wrk would not.
  const headers = [...headersOf(ask), 'Accept-Encoding: identity']
  const target = [`${ask.method ?? 'GET'} ${url}`, ...headers, ...(ask.body === undefined ? [] : [`@${body}`])]
  const attack = [
    'attack',
    '-rate',
    `${Math.round(rate)}/1s`,
    '-duration',
    `${FILLED_AFTER + stepSeconds}s`,
    '-timeout',
    '3s',
    '-max-body',
    '0',
  ]
  const results = outside(
    ['vegeta', ...attack, '-connections', '500', '-max-connections', '2000'],
    `${target.join('\n')}\n`,
  )
  const lines = execFileSync('vegeta', ['encode', '--to', 'csv'], { input: results, maxBuffer: 1 << 28 }).toString()
  const sent = lines
    .trim()
    .split('\n')
    .map(line => line.split(',').map(Number))
  const startNs = sent.reduce((first, [atNs]) => Math.min(first, atNs!), Number.POSITIVE_INFINITY)
  const good = sent.filter(
    ([atNs, status, latencyNs]) =>
      atNs! - startNs >= FILLED_AFTER * 1e9 && status! >= 200 && status! < 400 && latencyNs! <= 1e9,
  )
  return good.length / stepSeconds
}

/**
 * Waits until few local ports are in TIME_WAIT. An app that melts leaves most of them there, and vegeta needs new ones.
 */
async function portsFree(): Promise<void> {
  const waiting = (): number => Number(/ tw (\d+) /.exec(readFileSync('/proc/net/sockstat', 'utf8'))?.[1] ?? 0)
  for (let left = LONGEST_TIME_WAIT_S; left > 0 && waiting() > 1000; left--) await sleep(1000)
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
      return act(running.origin + ask.path)
    } finally {
      await running.stop()
    }
  }
  const closed = (): Promise<readonly number[]> =>
    withApp('bare', url => {
      closedLoop(url, ask, 2 * SECONDS) // Not counted, because V8 compiles in it.
      return Array.from({ length: TIMES }, (_, n) => closedLoop(url, ask, SECONDS, USERS[n % USERS.length]))
    })
  const before = await closed()
  const rate = LOAD * quantile(before, 0.5)
  const stepSeconds = STEP_SECONDS[name] ?? USUAL_STEP_SECONDS
  const open = async (arm: 'bare' | 'register'): Promise<number> => {
    await portsFree()
    return await withApp(arm, url => openLoop(url, ask, rate, stepSeconds, folder))
  }
  const seen = { bare: await open('bare'), protected: await open('register') }
  await portsFree()
  const { measured, standings = [], finding } = melt(name, definition, ask, stepSeconds, await freePort(), folder)
  rmSync(folder, { recursive: true, force: true })
  const arm = (which: 'bare' | 'protected'): ArmVerdict => {
    const row = measured.rows.find(each => each.arm === which && each.multiple === LOAD)!
    const says = standings.find(each => each.arm === which)!.says
    return { vegeta: seen[which], melt: keptOf(row), says }
  }
  const all = [...before, ...(await closed())]
  const judged: Judged = {
    closedLoop: [Math.min(...all), Math.max(...all)],
    melt: measured.capacity!.rate,
    bare: arm('bare'),
    protected: arm('protected'),
  }
  return {
    ...{ ...where, name, app: definition.title, request: `${ask.method ?? 'GET'} ${ask.path}`, tool, users: USERS },
    ...{ ...judged, finding, outcome: outcomeOf(judged) },
  }
}

function melt(
  name: string,
  { run, env = {} }: AppDefinition,
  ask: Ask,
  stepSeconds: number,
  port: number,
  folder: string,
) {
  const fill = (text: string): string => text.replaceAll('{port}', String(port)).replaceAll('{data}', folder)
  const filled = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, fill(value)]))
  const args = [
    'melt',
    '--json',
    '--quick',
    '--duration',
    `${stepSeconds}s`,
    '--at',
    `0.5,${LOAD}`,
    '--start-timeout',
    '60s',
    '--path',
    ask.path,
  ]
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
printMissedBars(
  result.apps
    .filter(({ outcome }) => outcome !== 'right')
    .map(({ app, outcome }) => (outcome === 'none' ? `no verdict on ${app}` : `the verdict on ${app} is wrong`)),
)
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
