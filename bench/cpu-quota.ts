/**
 * Measures one server in a cgroup that limits it to a share of a core: good and late answers, sheds, CPU, and throttled
 * time. Alternating arms: bare; under meltproof/register (`protected`); the same with a limit that is never reached
 * (`unlimited`); with load reports and agent checks, as in a fleet (`told`); and with metrics too (`measured`). Loads
 * are percentages of the bare server's capacity at the same share, which is searched before the rounds and measured
 * again after them. Needs root and a cpu cgroup (version 1 or 2). Build first.
 *
 *   node bench/cpu-quota.ts [--rounds 2] [--seconds 10] [--share 50,25,22] [--load 50,90,200] [--period 100]
 *     [--arms bare,protected,told,measured] [--dry]
 *
 * --period is in ms; containers use 100. With --share, results of the same code for other shares stay in the file. The
 * default takes half an hour.
 *
 * Bars for `protected`, `told` and `measured`: at least 97 % of the goodput of the best arm, a p99 of at most 0.5 s, no
 * answer later than a second, and below the capacity no more sheds than bare has late and failed requests. Exit code 3
 * if a bar is missed. Writes bench/results/cpu-quota.json and the table in docs/fleet.md.
 */
import { join } from 'node:path'
import { makeContext } from '../packages/lab/src/experiment/context.ts'
import type { Context, RunningApp } from '../packages/lab/src/experiment/scenario.ts'
import { allowedCores, coresOf, pinSelf } from '../packages/lab/src/launch/core-pinning.ts'
import { freePort } from '../packages/lab/src/launch/free-port.ts'
import { calibrateSpin, spinVariable } from '../packages/lab/src/launch/machine.ts'
import { registerUrl } from '../packages/lab/src/launch/register-url.ts'
import { sumOf } from '../packages/lab/src/load/added.ts'
import { Histogram } from '../packages/lab/src/load/histogram.ts'
import { runLoad } from '../packages/lab/src/load/run.ts'
import { type CapacityContext, remeasureCapacity, searchCapacity } from '../packages/lab/src/melt/capacity.ts'
import { presets } from '../packages/lab/src/melt/options.ts'
import { progressOn } from '../packages/lab/src/progress.ts'
import { formatPercent } from '../packages/lab/src/report/format.ts'
import { latencyFigures } from '../packages/lab/src/report/load-figures.ts'
import { type CpuGroup, cpuGroup } from '../packages/lab/src/scenarios/cpu-group.ts'
import { writeWhole } from '../packages/lab/src/write-whole.ts'
import { scriptOptions } from '../scripts/script-options.ts'
import { printMissedBars } from './lib/bars.ts'
import { checkAgent } from './lib/agent-checks.ts'
import { conditions } from './lib/conditions.ts'
import { putTable } from './lib/page-table.ts'
import { extendable, readResult, resultFile, together } from './lib/parts.ts'
import {
  ARMS,
  type Arm,
  missedBars,
  type QuotaFigures,
  type QuotaRun,
  quotaTable,
  rowsOf,
  type ShareFigures,
  whyUnsure,
} from './lib/quota-figures.ts'
import { QuotaGroup } from './lib/quota-group.ts'

const options = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: '2' },
  seconds: { type: 'string', default: '10' },
  share: { type: 'string', default: '50,25,22' },
  load: { type: 'string', default: '50,90,200' },
  period: { type: 'string', default: '100' },
  arms: { type: 'string', default: 'bare,protected,told,measured' },
  dry: { type: 'boolean', default: false },
})
const rounds = options.whole('rounds')
const seconds = options.whole('seconds')
const periodMs = options.whole('period')
const arms = options.chosen('arms', ARMS)
const shares = percents('share', 100)
const loads = percents('load', 10_000)
const where = conditions()
const cores = coresOf(allowedCores())
const page = join(import.meta.dirname, '../docs/fleet.md')

/** Warm-up, s. V8 compiles, which takes seconds with a quarter of a core, and the limit settles. Not measured. */
const LEARNS_S = 10
const TIMEOUT_MS = 3000
const CONNECTIONS = 400
/** A fifth of the calibration, so that the five slices of a request of fleet-service.js burn 1 ms of CPU in all. */
const spin = { [spinVariable]: String(Math.round((await calibrateSpin(cores?.server)) / 5)) }

interface Held {
  readonly app: RunningApp
  readonly group: QuotaGroup
  readonly stop: () => Promise<void>
}

/** Starts the service, and then puts it into the group. Unlike in a container, the start itself is not limited. */
async function start(
  context: Context,
  cpu: CpuGroup,
  share: number,
  arm: Arm,
): Promise<Held & { readonly admin: string }> {
  const [admin, agent] = [`127.0.0.1:${await freePort()}`, await freePort()]
  const reports = {
    MELTPROOF_HAPROXY_AGENT: `127.0.0.1:${agent}`,
    MELTPROOF_REPORT_LOAD_TO: '127.0.0.1',
  }
  const env: Readonly<Record<Arm, Readonly<Record<string, string>>>> = {
    bare: {},
    protected: {},
    unlimited: { MELTPROOF_LIMIT: '10000' },
    told: reports,
    measured: { ...reports, MELTPROOF_ADMIN: admin },
  }
  const app = await context.start({
    name: `the service, ${arm}`,
    run: 'fleet-service.js',
    core: 'server',
    env: { NODE_ENV: 'production', FORM: 'cpu', ...spin, ...env[arm] },
    ...(arm === 'bare' ? {} : { nodeOptions: `--import ${registerUrl()}` }),
  })
  cpu.share(share)
  cpu.hold(app.pid)
  const group = new QuotaGroup(app.pid)
  group.setPeriod(periodMs, share)
  const endChecks = arm === 'told' || arm === 'measured' ? checkAgent(agent) : () => {}
  context.cleanUp(endChecks)
  const stop = async (): Promise<void> => {
    endChecks()
    await app.stop()
  }
  return { app, group, stop, admin }
}

/** Capacity of the bare service with this share. */
async function capacityOf(context: Context, cpu: CpuGroup, share: number, users?: number) {
  const { app, stop } = await start(context, cpu, share, 'bare')
  const target = {
    url: `${app.origin}/`,
    method: 'GET',
    headers: {},
    body: undefined,
    timeoutMs: TIMEOUT_MS,
    sloMs: 1000,
  }
  const search: CapacityContext = {
    target: { ...target, fresh: false, connections: undefined, spacing: 'poisson' },
    times: presets.full.capacityTimes,
    onProbe: () => {},
    run: async plan => {
      const outcome = await runLoad(plan, { signal: context.signal })
      context.signal.throwIfAborted()
      return outcome
    },
  }
  const found =
    users === undefined ? await searchCapacity(search) : { searches: [], ...(await remeasureCapacity(search, users)) }
  await stop()
  return found
}

async function run(
  context: Context,
  cpu: CpuGroup,
  share: number,
  { arm, load, rate, seed }: Asked,
): Promise<QuotaRun> {
  const { app, group, stop, admin } = await start(context, cpu, share, arm)
  const offered = {
    url: `${app.origin}/`,
    rate,
    spacing: 'poisson',
    seed,
    connections: CONNECTIONS,
    timeoutMs: TIMEOUT_MS,
  } as const
  const name = `${formatPercent(share)} of a core, ${arm} at ${formatPercent(load)}`
  await context.load(`${name}, warming up`, { ...offered, durationMs: 1000 * LEARNS_S, warmUp: true })
  const throttledFrom = group.throttledMs()
  const watching = app.watch()
  const { seconds: all } = await context.load(name, { ...offered, durationMs: 1000 * seconds })
  const { cpuMs, watchedMs } = await watching.stop()
  const throttled = group.throttledMs() - throttledFrom
  const latency = Histogram.merged(all.map(({ okLatency }) => okLatency))
  const { p50, p99 } = latencyFigures(latency)
  const [due, good, shed] = [
    sumOf(all, each => each.scheduled),
    sumOf(all, each => each.good),
    sumOf(all, ({ answered }) => answered['503'] ?? 0),
  ]
  if (arm === 'measured') {
    context.line((await fetch(`http://${admin}/explain`).then(answer => answer.text(), String)).trim())
  }
  app.check()
  await stop()
  return {
    ...{ arm, load, seconds, due, good, shed, late: latency.count - good, failed: due - latency.count - shed },
    ...{ p50Ms: p50, p99Ms: p99 },
    usedShare: Math.round((cpuMs / watchedMs / share) * 1000) / 1000,
    throttledMsPerS: Math.round((1000 * throttled) / watchedMs),
  }
}

interface Asked {
  readonly arm: Arm
  readonly load: number
  readonly rate: number
  /** Seed of the arrivals. Each round has another one. */
  readonly seed: number
}

async function measure(context: Context, cpu: CpuGroup, share: number): Promise<ShareFigures> {
  const { rate: capacity, searches, users, isSteady } = await capacityOf(context, cpu, share)
  context.line(`${formatPercent(share)} of a core: ${capacity.toFixed(0)}/s`)
  const runs: QuotaRun[] = []
  for (let round = 0; round < rounds; round++) {
    for (const load of loads) {
      for (const arm of round % 2 === 0 ? arms : arms.toReversed()) {
        const one = await run(context, cpu, share, { arm, load, rate: load * capacity, seed: round + 1 })
        context.line(JSON.stringify(one))
        runs.push(one)
      }
    }
  }
  const { rate: after } = await capacityOf(context, cpu, share, users)
  return { share, capacity, searches, ...(isSteady === undefined ? {} : { isSteady }), after, runs }
}

const settings = { periodMs }
const earlier = options.values.dry ? undefined : extendable(readResult<QuotaFigures>('cpu-quota'), where, settings)
let made: readonly ShareFigures[] = earlier?.shares ?? []
const progress = progressOn(process.stderr)
const stop = new AbortController()
process.on('SIGINT', () => stop.abort(new Error('stopped by Ctrl-C')))
const { context, end } = makeContext({ form: 'full', signal: stop.signal, progress, cores })
if (cores !== undefined) pinSelf(cores.lab)
try {
  const cpu = cpuGroup(context, 'quota')
  for (const share of shares) {
    const figures = await measure(context, cpu, share)
    made = [...made.filter(each => each.share !== share), figures].sort((a, b) => b.share - a.share)
    console.table(rowsOf(figures))
    const unsure = whyUnsure(figures)
    if (unsure !== undefined) console.log(`not judged: ${unsure}`)
    const result: QuotaFigures = { ...together(earlier, where), ...settings, shares: made, missed: missedBars(made) }
    if (options.values.dry) continue
    writeWhole(resultFile('cpu-quota'), `${JSON.stringify(result, null, 2)}\n`)
    putTable(page, 'cpu-quota', quotaTable(result))
  }
} finally {
  await end()
  progress.clear()
}
printMissedBars(missedBars(made))

function percents(name: 'share' | 'load', most: number): number[] {
  return options.values[name].split(',').map(text => {
    const value = Number(text)
    if (text.trim() !== '' && value > 0 && value <= most) return value / 100
    return options.refuse(`--${name} must be percents above 0 and up to ${most}, got '${text}'`)
  })
}
