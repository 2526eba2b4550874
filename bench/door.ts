/**
 * One service that burns 5 ms of CPU a request, at many times its capacity: direct, behind HAProxy that is told nothing, with
 * a `maxconn` that a careful operator would guess, and told by meltproof (deploy/haproxy/haproxy.cfg as it is). The service is
 * under meltproof in all of them, and starts cold for each run; standing connections. Node has a core of its own; HAProxy and
 * the load share another (with more than two cores each has one). Needs Debian's haproxy.
 *
 *   node bench/door.ts [--rounds 1] [--seconds 6] [--loads 50,100] [--arms direct,untold,static,told]
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { appFile } from '../packages/lab/src/experiment/app-file.ts'
import { type App, launch } from '../packages/lab/src/launch/command.ts'
import { allowedCores, coresOf, pinned, pinSelf } from '../packages/lab/src/launch/core-pinning.ts'
import { freePort } from '../packages/lab/src/launch/free-port.ts'
import { Histogram } from '../packages/lab/src/load/histogram.ts'
import { planOf } from '../packages/lab/src/load/load-request.ts'
import type { LoadOutcome } from '../packages/lab/src/load/plan.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { markdownTable } from '../packages/lab/src/report/markdown-table.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'
import { ASKS, type HaproxyPorts, startHaproxy } from './lib/haproxy.ts'

/** What stands on the server line; `direct` has no HAProxy. */
const ARMS = {
  direct: undefined,
  untold: '',
  /** Two for the core, and some to keep it busy. */
  static: 'maxconn 10',
  told: ASKS,
} as const
type Arm = keyof typeof ARMS

const STANDING = 1500
/** Nobody waits for longer. */
const TIMEOUT_MS = 3000

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '1' },
  seconds: { type: 'string', default: '6' },
  loads: { type: 'string', default: '50,100' },
  arms: { type: 'string' },
})
const rounds = options.whole('rounds')
const durationMs = 1000 * options.whole('seconds')
const loads = options.values.loads.split(',').map(Number)
const arms = options.chosen('arms', Object.keys(ARMS)) as Arm[]

const cores = coresOf(allowedCores())
if (cores !== undefined) pinSelf(cores.lab)
const register = import.meta.resolve('meltproof/register')

interface Row {
  readonly arm: Arm
  readonly load: number
  readonly kept: number
  readonly okP50: number
  readonly okP99: number
  /** Of every answer, from its scheduled time, ms. */
  readonly longest: number
  readonly noAnswer: number
  readonly maxconn: string
  readonly certified: boolean
}

async function startService(isGuarded: boolean): Promise<{ app: App; ports: HaproxyPorts }> {
  const ports = { web: await freePort(), service: await freePort(), admin: await freePort(), agent: await freePort() }
  const app = await launch({
    name: 'the service',
    command: pinned([process.execPath, '--no-warnings', appFile('overload/app.js'), 'steps', 'bare'], cores?.server),
    env: {
      ...process.env,
      PORT: String(ports.service),
      NODE_ENV: 'production',
      MELTPROOF: isGuarded ? 'on' : 'off',
      MELTPROOF_ADMIN: `127.0.0.1:${ports.admin}`,
      MELTPROOF_HAPROXY_AGENT: `127.0.0.1:${ports.agent}`,
      NODE_OPTIONS: `--import ${register}`,
    },
  })
  const page = isGuarded ? `http://127.0.0.1:${ports.admin}/ready` : `http://127.0.0.1:${ports.service}/`
  while (
    !(await fetch(page).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (app.ended() !== undefined) throw new Error(`the service ${app.ended()}: ${app.lastWords()}`)
    await sleep(20)
  }
  return { app, ports }
}

/** What a warm service without anything in front or around it serves a second, as fast as it can. */
async function capacity(): Promise<number> {
  const { app, ports } = await startService(false)
  const serve = (ms: number): Promise<LoadOutcome> =>
    runLoad(planOf({ url: `http://127.0.0.1:${ports.service}/`, users: 8, durationMs: ms }))
  await serve(1500)
  const { good, elapsedMs } = await serve(3000)
  await app.stop()
  return (1000 * good) / elapsedMs
}

async function measure(arm: Arm, load: number, perSecond: number): Promise<Row> {
  const { app, ports } = await startService(true)
  const line = ARMS[arm]
  const haproxy = line === undefined ? undefined : await startHaproxy(ports, cores?.dependency, line)
  const told: string[] = []
  const telling = setInterval(() => {
    haproxy?.server('slim').then(
      maxconn => told.push(maxconn),
      () => told.push('?'),
    )
  }, 250)
  const outcome = await runLoad(
    planOf({
      url: `http://127.0.0.1:${haproxy === undefined ? ports.service : ports.web}/`,
      rate: load * perSecond,
      durationMs,
      connections: STANDING,
      spacing: 'poisson',
      timeoutMs: TIMEOUT_MS,
    }),
  )
  clearInterval(telling)
  if (told.length > 0) console.error(`${arm} at ${load}x, maxconn every 250 ms: ${told.join(' ')}`)
  const maxconn = (await haproxy?.server('slim')) ?? ''
  await haproxy?.stop()
  await app.stop()
  const { okLatency, shedLatency, otherLatency } = outcome
  const all = Histogram.merged([okLatency, shedLatency, otherLatency])
  for (const why of outcome.why) console.error(`${arm} at ${load}x: ${why}`)
  console.error(`${arm} at ${load}x, good by second: ${outcome.seconds.map(({ good }) => good).join(' ')}`)
  return {
    arm,
    load,
    kept: (1000 * outcome.good) / durationMs / perSecond,
    okP50: okLatency.percentile(50),
    okP99: okLatency.percentile(99),
    longest: all.max,
    noAnswer: outcome.scheduled - all.count,
    maxconn,
    certified: outcome.certified,
  }
}

const rows: Row[] = []
const capacities: number[] = []
for (let round = 0; round < rounds; round++) {
  for (const load of loads) {
    const perSecond = await capacity()
    capacities.push(perSecond)
    console.error(`capacity ${perSecond.toFixed(0)}/s`)
    for (const arm of arms) rows.push(await measure(arm, load, perSecond))
  }
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
const table = loads.flatMap(load =>
  arms.map(arm => {
    const these = rows.filter(row => row.arm === arm && row.load === load)
    const of = (figure: 'kept' | 'okP50' | 'okP99'): number => median(these.map(row => row[figure]))
    return [
      `${load}x`,
      arm,
      `${(100 * of('kept')).toFixed(0)} %`,
      `${of('okP50').toFixed(0)} ms`,
      `${of('okP99').toFixed(0)} ms`,
      `${Math.max(...these.map(({ longest }) => longest)).toFixed(0)} ms`,
      String(these.reduce((sum, { noAnswer }) => sum + noAnswer, 0)),
      these.at(-1)!.maxconn,
      these.every(({ certified }) => certified) ? 'yes' : 'no',
    ]
  }),
)
const { date, node, cpu, cores: count } = conditions()
const head = `One service at many times its capacity (${capacities.map(each => each.toFixed(0)).join(', ')}/s) · ${date} · node ${node} · ${cpu}, ${count} cores · ${rounds} rounds of ${durationMs / 1000} s, medians; longest and no answer of all`
const columns = [
  'load',
  'arm',
  'goodput',
  'p50',
  'p99',
  'longest answer',
  'no answer',
  'maxconn at the end',
  'certified',
]
const text = `${head}\n\n${markdownTable(columns, table)}\n`
console.log(text)
writeFileSync(join(import.meta.dirname, 'results/door.txt'), text)
process.exit()
