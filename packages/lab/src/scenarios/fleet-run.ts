/** Four instances on one core, one four times slower than the others, behind a balancer. Another becomes as slow. */
import { type Context, type Scenario, scenario } from '../experiment/scenario.ts'
import { calibrateSpin, spinVariable } from '../launch/machine.ts'
import { Histogram } from '../load/histogram.ts'
import type { LoadOutcome } from '../load/plan.ts'
import { untilAgreed, warmUp } from '../melt/capacity.ts'
import { latencyFigures } from '../report/load-figures.ts'
import { UserError } from '../user-error.ts'
import { type CpuGroup, cpuGroup } from './cpu-group.ts'
import { envoyProgram, startEnvoy } from './fleet-envoy.ts'
import { fleetExpects } from './fleet-expects.ts'
import { needHaproxy, startHaproxy } from './fleet-haproxy.ts'
import { type Balancer, type Change, type Instance, startInstance } from './fleet-instance.ts'
import {
  BECOMES_SLOW,
  capacityAfter,
  type FleetForm,
  type FleetMeasured,
  type FleetPhase,
  fleetCapacity,
  type FleetRun,
  LOAD,
  SLOW,
  sumOf,
  TIMES_SLOWER,
} from './fleet-measured.ts'
import { arms, fleetView } from './fleet-view.ts'
import { capacityFrom, type SearchedCapacity } from './searched-capacity.ts'

const INSTANCES = 4
/** Each instance's share of the core; the rest stays free, so that instances do not slow each other down. */
const SHARE = 0.22
const TIMEOUT_MS = 3000
/** A request takes five slices of CPU time. */
const SLICE_MS = 0.2
/** In the form `wait`, a request waits for one of these connections and holds it for this time. */
const POOL = 10
const HOLD_MS = 50
/** Seconds that are not measured: balancers adapt to the instances, and V8 compiles. */
const LEARNS_S = 5

/** Envoy without its own limit. */
const unlimited: Change = [
  'default_value: true, runtime_key: adaptive_concurrency.enabled',
  'default_value: false, runtime_key: adaptive_concurrency.enabled',
]
const inTurn: readonly Change[] = [
  ['load_balancing_policies.least_request', 'load_balancing_policies.round_robin'],
  ['v3.LeastRequest', 'v3.RoundRobin'],
]

interface Way {
  readonly start: (context: Context, instances: readonly Instance[]) => Promise<Balancer>
  readonly isGuarded: boolean
  /** Throws if its balancer is not installed. */
  readonly need: () => void
}

const ways: Readonly<Record<string, Way>> = {
  'HAProxy round robin': haproxy({ line: '', balance: 'roundrobin' }),
  'HAProxy leastconn': haproxy({ line: '' }),
  'HAProxy maxconn 10': haproxy({ line: 'maxconn 10', balance: 'roundrobin' }),
  'HAProxy told': haproxy({ line: 'asks' }),
  'Envoy round robin': envoy('adaptive-concurrency.yaml', [unlimited, ...inTurn]),
  'Envoy least request': envoy('adaptive-concurrency.yaml', [unlimited]),
  'Envoy adaptive': envoy('adaptive-concurrency.yaml'),
  'Envoy told': envoy('envoy.yaml'),
}

function haproxy(options: Parameters<typeof startHaproxy>[2]): Way {
  return {
    start: (context, instances) => startHaproxy(context, instances, options),
    isGuarded: options.line === 'asks',
    need: needHaproxy,
  }
}

function envoy(file: string, changes: readonly Change[] = []): Way {
  return {
    start: (context, instances) => startEnvoy(context, instances, { file, changes }),
    isGuarded: file === 'envoy.yaml',
    need: () => void envoyProgram(),
  }
}

export interface FleetKind extends Pick<Scenario<unknown>, 'name' | 'title' | 'story'> {
  readonly form: FleetForm
}

export function fleetOf({ form, ...words }: FleetKind): Scenario<unknown> {
  return scenario<FleetMeasured>({
    ...words,
    published: [],
    arms,
    expects: fleetExpects,
    blank: () => ({ form, capacities: [], changesAt: 0, missing: [], runs: [] }),
    run: (context, measured) => run(context, measured),
    view: fleetView,
  })
}

async function run(context: Context, measured: FleetMeasured): Promise<void> {
  // Seconds of the second phase before the change.
  measured.changesAt = context.pick({ brief: 1, quick: 4, full: 4 })
  const start = await startOf(context, measured.form)
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
  if (chosen.length === 0) throw new UserError(`neither HAProxy nor Envoy is here: ${measured.missing.join('; ')}`)
  // The first installed balancer, with least connections or least requests, and without a limit.
  const [, plain] = there.find(([arm]) => /least/.test(arm))!
  const before = await searchCapacities(context, plain, start, measured.form)
  measured.sums = [before.sum]
  measured.capacities = before.capacities
  for (const [arm, way] of chosen) measured.runs.push(await measure(context, { arm, ...way }, start, measured))
  const after = await searchCapacities(context, plain, start, measured.form)
  measured.sums = [before.sum, after.sum]
}

interface Fleet {
  readonly instances: readonly Instance[]
  /** Limits the instances to their speeds from now on. */
  readonly hold: () => void
  readonly slower: () => Promise<void>
}

/** Starts all instances. They are warmed up before `hold` limits them. */
type StartFleet = (isGuarded: boolean) => Promise<Fleet>

async function startOf(context: Context, form: FleetForm): Promise<StartFleet> {
  return form === 'cpu' ? heldFleet(context) : waitingFleet(context)
}

const startAll = (context: Context, isGuarded: boolean, env: (n: number) => Readonly<Record<string, string>>) =>
  Promise.all(Array.from({ length: INSTANCES }, (_, n) => startInstance(context, isGuarded, env(n))))

function waitingFleet(context: Context): StartFleet {
  return async isGuarded => {
    const holdMs = (n: number): string => String(n === SLOW ? HOLD_MS * TIMES_SLOWER : HOLD_MS)
    const instances = await startAll(context, isGuarded, n => ({
      FORM: 'wait',
      POOL: String(POOL),
      HOLD_MS: holdMs(n),
    }))
    return { instances, hold: () => {}, slower: () => instances[BECOMES_SLOW]!.app.ask('/slower') }
  }
}

async function heldFleet(context: Context): Promise<StartFleet> {
  const groups = Array.from({ length: INSTANCES }, (_, n) => cpuGroup(context, String(n)))
  const env = {
    FORM: 'cpu',
    [spinVariable]: String(Math.round((await calibrateSpin(context.cores?.server)) * SLICE_MS)),
  }
  return async isGuarded => {
    const instances = await startAll(context, isGuarded, () => env)
    return {
      instances,
      hold: () => holdAll(groups, instances),
      slower: async () => groups[BECOMES_SLOW]!.share(SHARE / TIMES_SLOWER),
    }
  }
}

function holdAll(groups: readonly CpuGroup[], instances: readonly Instance[]): void {
  for (const [n, { app }] of instances.entries()) {
    groups[n]!.share(n === SLOW ? SHARE / TIMES_SLOWER : SHARE)
    groups[n]!.hold(app.pid)
  }
}

async function prepare(context: Context, fleet: Fleet, { origin }: Balancer): Promise<void> {
  await context.load('warming up', {
    url: `${origin}/`,
    users: 8,
    durationMs: context.pick({ brief: 500, quick: 1500, full: 1500 }),
    warmUp: true,
  })
  fleet.hold()
}

/** Searches the capacity of each instance while all of them are busy, until the sums of two searches agree. */
export async function searchCapacities(
  context: Context,
  way: Pick<Way, 'start'>,
  start: StartFleet,
  form: FleetForm,
): Promise<{ readonly sum: SearchedCapacity; readonly capacities: readonly number[] }> {
  const fleet = await start(false)
  const balancer = await way.start(context, fleet.instances)
  await prepare(context, fleet, balancer)
  const users = (form === 'cpu' ? 8 : 2 * POOL) * INSTANCES
  const request = { url: `${balancer.origin}/`, users, warmUp: true }
  const warmUpMs = context.pick({ brief: 300, quick: 1000, full: 1000 })
  const { isSteady } = await warmUp(() => context.load('warming up', { ...request, durationMs: warmUpMs }))
  const durationMs = context.pick({ brief: 1000, quick: 6000, full: 10_000 })
  const searchOnce = async (): Promise<readonly number[]> => {
    const before = await balancer.sent()
    const { elapsedMs } = await context.load('what it can do', { ...request, durationMs })
    const after = await balancer.sent()
    return after.map((count, n) => (1000 * (count - before[n]!)) / elapsedMs)
  }
  const found = await untilAgreed(searchOnce, sumOf)
  for (const app of [balancer.app, ...fleet.instances.map(each => each.app)]) await app.stop()
  return {
    sum: { searches: found.map(sumOf), isSteady },
    capacities: found[0].map((_, n) => capacityFrom(found.map(each => each[n]!))),
  }
}

async function measure(
  context: Context,
  { arm, ...way }: Way & { readonly arm: string },
  start: StartFleet,
  measured: FleetMeasured,
): Promise<FleetRun> {
  const fleet = await start(way.isGuarded)
  const balancer = await way.start(context, fleet.instances)
  await prepare(context, fleet, balancer)
  const steadyS = context.pick({ brief: 2, quick: 7, full: 20 })
  const afterS = context.pick({ brief: 2, quick: 7, full: 16 })
  const learnsS = context.pick({ brief: 1, quick: LEARNS_S, full: LEARNS_S })
  const phase = (name: string, rate: number, seconds: number, from: number): Promise<FleetPhase> =>
    offer(context, balancer, { name: `${arm}, ${name}`, rate: LOAD * rate, seconds, from })
  const steady = await phase('steady', fleetCapacity(measured), learnsS + steadyS, learnsS)
  const slower = setTimeout(
    () => void fleet.slower().catch(error => context.doubt(String(error))),
    1000 * measured.changesAt,
  )
  const change = await phase('one slower', capacityAfter(measured), measured.changesAt + afterS, 0).finally(() =>
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
  /** Earlier seconds do not count. */
  readonly from: number
}

async function offer(context: Context, balancer: Balancer, { name, rate, seconds, from }: Offer): Promise<FleetPhase> {
  const sampling = context.sample(1000, () => balancer.sent())
  const outcome = await context.load(name, {
    ...{ url: `${balancer.origin}/`, rate, durationMs: 1000 * seconds },
    ...{ spacing: 'poisson', connections: 400, timeoutMs: TIMEOUT_MS },
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
