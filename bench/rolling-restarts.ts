/**
 * Restarts four instances under meltproof, one after another and under load, behind a balancer with the configuration
 * of deploy/: SIGTERM, drain, a new process at the same ports, then the next one when the balancer uses the new
 * process. Each round is one restart under GETs and POSTs of closed-loop users. Exit code 1 if a request was lost, or
 * answered with a status other than 2xx and 503. A round in which the script was paused for over two seconds is
 * repeated.
 *
 *   node bench/rolling-restarts.ts [--quick] [--restarts 100] [--requests 1000000] [--behind haproxy,envoy]
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeContext } from '../packages/lab/src/experiment/context.ts'
import type { Context } from '../packages/lab/src/experiment/scenario.ts'
import { allowedCores, coresOf, pinSelf } from '../packages/lab/src/launch/core-pinning.ts'
import { planOf } from '../packages/lab/src/load/load-request.ts'
import type { LoadOutcome, LoadProgress } from '../packages/lab/src/load/plan.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { markdownTable } from '../packages/lab/src/report/markdown-table.ts'
import { startEnvoy } from '../packages/lab/src/scenarios/fleet-envoy.ts'
import { needHaproxy, startHaproxy } from '../packages/lab/src/scenarios/fleet-haproxy.ts'
import {
  type Balancer,
  complete,
  type Instance,
  type Ports,
  startInstance,
} from '../packages/lab/src/scenarios/fleet-instance.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { conditions } from './lib/conditions.ts'

const INSTANCES = 4
const USERS = 64
const THINK_MS = 15
/** Maximum pause of this process in a valid round, ms. In a longer pause, timers of the balancer may have fired. */
const STOOD_STILL_MS = 2000
/** Maximum duration of the load of a round, ms. */
const ROUND_MS = 60_000

const BALANCERS = {
  haproxy: (context: Context, instances: readonly Instance[]) => startHaproxy(context, instances, { line: 'asks' }),
  envoy: (context: Context, instances: readonly Instance[]) => startEnvoy(context, instances, { file: 'envoy.yaml' }),
}
type Name = keyof typeof BALANCERS

const options = scriptOptions(import.meta.filename, {
  quick: { type: 'boolean', default: false },
  restarts: { type: 'string', default: '100' },
  requests: { type: 'string', default: '1000000' },
  behind: { type: 'string' },
})
const { quick } = options.values
const restarts = quick ? INSTANCES : options.whole('restarts')
const perRound = quick ? 1000 : Math.ceil(options.whole('requests') / restarts)
/** The drain delay is 2 s, because both balancers notice within a second or two that an instance drains. */
const env = { MELTPROOF_DRAIN: 'on', MELTPROOF_DRAIN_DELAY: '2s', FORM: 'wait', HOLD_MS: '5', POOL: '1000' }

interface Round {
  readonly statuses: Readonly<Record<string, number>>
  readonly lost: Readonly<Record<string, number>>
  readonly stoodStill: boolean
}

const cores = coresOf(allowedCores())
if (cores !== undefined) pinSelf(cores.lab)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopping.abort(new Error('stopped')))
const { context: made, end } = makeContext({
  form: 'full',
  signal: stopping.signal,
  progress: { status: () => {}, line: text => console.error(text), clear: () => {} },
  cores,
})

/** The start timeout is long, because a machine that is paused for minutes must not fail the run. */
const context: Context = { ...made, start: spec => made.start({ ...spec, startTimeoutMs: 600_000 }) }

async function roll(name: Name): Promise<{ readonly rounds: Round[]; readonly again: number }> {
  const instances: Instance[] = []
  while (instances.length < INSTANCES) instances.push(await startInstance(context, true, env))
  const balancer = await BALANCERS[name](context, instances)
  const rounds: Round[] = []
  let again = 0
  while (rounds.length < restarts) {
    const n = rounds.length % INSTANCES
    const round = await oneRound(balancer, () => restart(balancer, instances, n))
    if (round.stoodStill) again++
    else rounds.push(round)
    const which = round.stoodStill ? `${rounds.length + 1}, made again` : String(rounds.length)
    const words = [round.statuses, round.lost].map(counts => JSON.stringify(counts)).join(' lost ')
    if (isBad(round) || rounds.length % 10 === 0) console.error(`${name} ${which} of ${restarts}: ${words}`)
  }
  for (const { app } of [...instances, balancer]) await app.stop()
  return { rounds, again }
}

async function restart(balancer: Balancer, instances: Instance[], n: number): Promise<void> {
  const { app, ports } = instances[n]!
  process.kill(app.pid, 'SIGTERM')
  const how = await app.exited
  // After the drain, the instance sends SIGTERM to itself, and this signal ends it.
  if (how !== 'was ended by SIGTERM') throw new Error(`an instance ${how}: ${app.lastWords()}`)
  await app.stop()
  instances[n] = await startInstance(context, true, env, ports as Ports)
  await complete(context, balancer)
}

/** Offers load until the restart has ended and enough requests were sent. */
async function oneRound({ origin }: Balancer, doRestart: () => Promise<void>): Promise<Round> {
  const enough = new AbortController()
  let [isRestarted, longest, before] = [false, 0, performance.now()]
  const watching = setInterval(() => {
    longest = Math.max(longest, performance.now() - before)
    before = performance.now()
  }, 100)
  const get = planOf({ url: `${origin}/`, users: USERS, thinkMs: THINK_MS, durationMs: ROUND_MS })
  const post = { url: get.url, method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'once' }
  const begun = Promise.withResolvers<void>()
  const restarting = begun.promise.then(doRestart).then(() => {
    isRestarted = true
  })
  const onProgress = ({ sent }: LoadProgress): void => {
    if (sent > 0) begun.resolve()
    if (isRestarted && sent >= perRound) enough.abort()
  }
  const loading = runLoad(
    { ...get, others: [post] },
    { signal: AbortSignal.any([enough.signal, stopping.signal]), onProgress },
  )
  const [outcome] = await Promise.all([loading, restarting])
  clearInterval(watching)
  stopping.signal.throwIfAborted()
  return { ...counted(outcome), stoodStill: longest > STOOD_STILL_MS }
}

/** Requests that were in flight or due when the round ended do not count as lost. */
function counted({ answered, failed, unsent }: LoadOutcome): Pick<Round, 'statuses' | 'lost'> {
  const { aborted: _, ...lost } = failed
  return { statuses: answered, lost: unsent > USERS ? { ...lost, unsent } : lost }
}

const isBad = ({ statuses, lost }: Round): boolean =>
  Object.keys(lost).length > 0 || Object.keys(statuses).some(status => !/^2|503/.test(status))

function total(all: readonly Readonly<Record<string, number>>[], of = /./): number {
  return all.flatMap(each => Object.entries(each)).reduce((sum, [key, count]) => sum + (of.test(key) ? count : 0), 0)
}

const rows: string[][] = []
let isFine = true
try {
  for (const name of options.chosen('behind', Object.keys(BALANCERS)) as Name[]) {
    if (name === 'haproxy') needHaproxy()
    const { rounds, again } = await roll(name)
    isFine &&= !rounds.some(isBad)
    const statuses = rounds.map(round => round.statuses)
    const counts = [
      total(statuses) + total(rounds.map(({ lost }) => lost)),
      total(statuses, /^2/),
      total(statuses, /503/),
      total(statuses, /502/),
      total(statuses, /^(?!2|50[23])/),
      total(rounds.map(({ lost }) => lost)),
    ]
    rows.push([name, String(rounds.length), ...counts.map(count => count.toLocaleString('en')), String(again)])
  }
} finally {
  await end()
}
const { date, node, cpu, cores: count } = conditions()
const head = `Rolling restarts under load · ${date} · node ${node} · ${cpu}, ${count} cores · half of the requests GET, half POST`
const columns = ['behind', 'restarts', 'requests', '2xx', '503', '502', 'other', 'lost', 'rounds made again']
const text = `${head}\n\n${markdownTable(columns, rows)}\n`
console.log(text)
if (!quick) writeFileSync(join(import.meta.dirname, 'results/rolling-restarts.txt'), text)
process.exit(isFine ? 0 : 1)
