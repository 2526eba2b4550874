/**
 * Four instances of one service on one core, one of them four times slower than the others, behind HAProxy and behind Envoy,
 * which spread the load as their users set them up and as meltproof tells them. Then another one becomes as slow. What is made
 * of the figures is in fleet-view.ts.
 */
import { type Context, type Scenario, scenario } from '../experiment/scenario.ts'
import { calibrateSpin, spinVariable } from '../launch/machine.ts'
import { Histogram } from '../load/histogram.ts'
import type { LoadOutcome } from '../load/plan.ts'
import { latencyFigures } from '../report/load-figures.ts'
import { UserError } from '../user-error.ts'
import { type CpuGroup, cpuGroup } from './fleet-cpu.ts'
import { envoyProgram, startEnvoy } from './fleet-envoy.ts'
import { fleetExpects } from './fleet-expects.ts'
import { needHaproxy, startHaproxy } from './fleet-haproxy.ts'
import { type Balancer, type Change, type Instance, startInstance } from './fleet-instance.ts'
import {
  BECOMES_SLOW,
  capacityAfter,
  type FleetMeasured,
  type FleetPhase,
  fleetCapacity,
  type FleetRun,
  LOAD,
  SLOW,
  TIMES_SLOWER,
} from './fleet-measured.ts'
import { arms, fleetView } from './fleet-view.ts'

type Start = (context: Context, instances: readonly Instance[]) => Promise<Balancer>

const INSTANCES = 4
/** Of the core; the rest of it stays free, so that none is slowed by another. */
const SHARE = 0.28
const TIMEOUT_MS = 3000
/** Not measured: balancers learn, and V8 compiles. */
const LEARNS_S = 5
/** Seconds of the second phase before the change. */
const BEFORE_S = 4

/** Envoy without a limit of its own. */
const unlimited: Change = [
  'default_value: true, runtime_key: adaptive_concurrency.enabled',
  'default_value: false, runtime_key: adaptive_concurrency.enabled',
]
const inTurn: readonly Change[] = [
  ['load_balancing_policies.least_request', 'load_balancing_policies.round_robin'],
  ['v3.LeastRequest', 'v3.RoundRobin'],
]

const ways: Readonly<
  Record<string, { readonly start: Start; readonly isGuarded: boolean; readonly need: () => void }>
> = {
  'HAProxy round robin': haproxy({ line: '' }),
  'HAProxy least connections': haproxy({ line: '', balance: 'leastconn' }),
  'HAProxy static maxconn': haproxy({ line: 'maxconn 10' }),
  'HAProxy told': haproxy({ line: 'asks' }),
  'Envoy round robin': envoy('adaptive-concurrency.yaml', [unlimited, ...inTurn]),
  'Envoy least request': envoy('adaptive-concurrency.yaml', [unlimited]),
  'Envoy adaptive concurrency': envoy('adaptive-concurrency.yaml'),
  'Envoy told': envoy('envoy.yaml'),
}

function haproxy(options: Parameters<typeof startHaproxy>[2]) {
  const start: Start = (context, instances) => startHaproxy(context, instances, options)
  return { start, isGuarded: options.line === 'asks', need: needHaproxy }
}

function envoy(file: string, changes: readonly Change[] = []) {
  const start: Start = (context, instances) => startEnvoy(context, instances, { file, changes })
  return { start, isGuarded: file === 'envoy.yaml', need: () => void envoyProgram() }
}

export const fleet: Scenario<unknown> = scenario<FleetMeasured>({
  name: 'fleet',
  title: 'An uneven fleet',
  story:
    'Four instances of one service, one four times slower than the others, behind HAProxy and Envoy, told and not told.',
  published: [],
  arms,
  expects: fleetExpects,
  blank: () => ({ manner: null, capacities: [], changesAt: BEFORE_S, missing: [], runs: [] }),
  async run(context, measured) {
    const makeUneven = await unevenness(context)
    measured.manner = makeUneven.manner
    if (measured.manner === 'app')
      context.line('no control group can be made here: the slow instance works longer instead')
    const there = Object.entries(ways).filter(([arm, { need }]) => {
      try {
        need()
        return true
      } catch (error) {
        measured.missing.push(`${arm}: ${(error as Error).message}`)
        context.line(`${arm} is left out: ${(error as Error).message}`)
        return false
      }
    })
    const chosen = context.pick({ brief: there.filter(([, { isGuarded }]) => isGuarded), quick: there, full: there })
    if (chosen.length === 0) throw new UserError(`fleet needs HAProxy or Envoy: ${measured.missing.join('; ')}`)
    // By whichever is there, without a limit.
    const [, plain] = there.find(([arm]) => /least/.test(arm))!
    measured.capacities = await capacitiesOf(context, plain.start, makeUneven)
    for (const [arm, { start, isGuarded }] of chosen) {
      measured.runs.push(await measure(context, { arm, start, isGuarded }, makeUneven, measured))
    }
  },
  view: fleetView,
})

interface Unevenness {
  readonly manner: 'cgroup' | 'app'
  readonly start: (isGuarded: boolean) => Promise<Fleet>
}

interface Fleet {
  readonly instances: readonly Instance[]
  /** From now on they are as fast as they are to be. */
  readonly hold: () => void
  readonly slower: () => Promise<void>
}

async function unevenness(context: Context): Promise<Unevenness> {
  const groups = Array.from({ length: INSTANCES }, (_, n) => cpuGroup(context, String(n))).filter(
    each => each !== undefined,
  )
  const manner = groups.length === INSTANCES ? 'cgroup' : 'app'
  const spin = String(await calibrateSpin(context.cores?.server))
  const start = async (isGuarded: boolean): Promise<Fleet> => {
    const instances: Instance[] = []
    for (let n = 0; n < INSTANCES; n++) {
      const holds = { FORM: 'wait', HOLD_MS: String(n === SLOW ? 50 * TIMES_SLOWER : 50) }
      const env = manner === 'cgroup' ? { FORM: 'cpu', [spinVariable]: spin } : holds
      instances.push(await startInstance(context, isGuarded, env))
    }
    if (manner === 'app') {
      const { app } = instances[BECOMES_SLOW]!
      return { instances, hold: () => {}, slower: () => app.ask('/slower') }
    }
    return {
      instances,
      hold: () => holdAll(groups, instances),
      slower: async () => groups[BECOMES_SLOW]!.share(SHARE / TIMES_SLOWER),
    }
  }
  return { manner, start }
}

function holdAll(groups: readonly CpuGroup[], instances: readonly Instance[]): void {
  for (const [n, { app }] of instances.entries()) {
    groups[n]!.share(n === SLOW ? SHARE / TIMES_SLOWER : SHARE)
    groups[n]!.hold(app.pid)
  }
}

async function warmUp(context: Context, fleet: Fleet, { origin }: Balancer): Promise<void> {
  await context.load('warming up', { url: `${origin}/`, users: 8, durationMs: 1500, warmUp: true })
  fleet.hold()
}

/** Of each instance, while all of them have enough to do. */
async function capacitiesOf(context: Context, start: Start, uneven: Unevenness): Promise<readonly number[]> {
  const fleet = await uneven.start(false)
  const balancer = await start(context, fleet.instances)
  await warmUp(context, fleet, balancer)
  const users = (uneven.manner === 'cgroup' ? 8 : 20) * INSTANCES
  const request = { url: `${balancer.origin}/`, users, warmUp: true }
  await context.load('what it can do', { ...request, durationMs: 1000 })
  const before = await balancer.sent()
  const durationMs = context.pick({ brief: 1500, quick: 6000, full: 10_000 })
  const { elapsedMs } = await context.load('what it can do', { ...request, durationMs })
  const after = await balancer.sent()
  for (const app of [balancer.app, ...fleet.instances.map(each => each.app)]) await app.stop()
  return after.map((count, n) => (1000 * (count - before[n]!)) / elapsedMs)
}

async function measure(
  context: Context,
  { arm, start, isGuarded }: { readonly arm: string; readonly start: Start; readonly isGuarded: boolean },
  uneven: Unevenness,
  measured: FleetMeasured,
): Promise<FleetRun> {
  const fleet = await uneven.start(isGuarded)
  const balancer = await start(context, fleet.instances)
  await warmUp(context, fleet, balancer)
  const steadyS = context.pick({ brief: 2, quick: 8, full: 20 })
  const afterS = context.pick({ brief: 3, quick: 8, full: 16 })
  const learnsS = context.pick({ brief: 2, quick: LEARNS_S, full: LEARNS_S })
  const phase = (name: string, rate: number, seconds: number, from: number): Promise<FleetPhase> =>
    offer(context, balancer, { name: `${arm}, ${name}`, rate: LOAD * rate, seconds, from })
  const steady = await phase('steady', fleetCapacity(measured), learnsS + steadyS, learnsS)
  const slower = setTimeout(() => void fleet.slower().catch(error => context.doubt(String(error))), 1000 * BEFORE_S)
  const change = await phase('one slower', capacityAfter(measured), BEFORE_S + afterS, 0).finally(() =>
    clearTimeout(slower),
  )
  for (const { app } of [...fleet.instances, balancer]) {
    app.check()
    await app.stop()
  }
  return { arm, steady, change }
}

interface Offer {
  readonly name: string
  readonly rate: number
  readonly seconds: number
  /** The seconds before that are not counted. */
  readonly from: number
}

async function offer(context: Context, balancer: Balancer, { name, rate, seconds, from }: Offer): Promise<FleetPhase> {
  const sampling = context.sample(1000, () => balancer.sent())
  const outcome = await context.load(name, {
    ...{ url: `${balancer.origin}/`, rate, durationMs: 1000 * seconds },
    ...{ spacing: 'poisson', connections: 200, timeoutMs: TIMEOUT_MS },
  })
  const samples = await sampling.stop()
  return phaseOf(outcome, new Map(samples.map(({ atMs, value }) => [Math.round(atMs / 1000), value])), from)
}

function phaseOf({ seconds }: LoadOutcome, sent: ReadonlyMap<number, readonly number[]>, from: number): FleetPhase {
  const counted = seconds.filter(({ second }) => second >= from)
  const sum = (of: (each: (typeof counted)[number]) => number): number =>
    counted.reduce((total, each) => total + of(each), 0)
  const { p50, p99 } = latencyFigures(Histogram.merged(counted.map(({ okLatency }) => okLatency)))
  return {
    ...{ p50Ms: p50, p99Ms: p99 },
    due: sum(({ scheduled }) => scheduled),
    good: sum(({ good }) => good),
    shed: sum(({ answered }) => answered['503'] ?? 0),
    bad: sum(({ answered }) => answered['502'] ?? 0),
    seconds: counted.map(({ second, scheduled, good, okLatency, answered }) => {
      const shed = answered['503'] ?? 0
      const [since, until] = [sent.get(second), sent.get(second + 1)]
      return {
        ...{ due: scheduled, good, shed, failed: scheduled - okLatency.count - shed },
        sent: since && until ? until.map((count, n) => count - since[n]!) : [],
      }
    }),
  }
}
