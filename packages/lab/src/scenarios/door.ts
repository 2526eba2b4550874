/** A cold service gets far more than its capacity: alone, or behind HAProxy with no limit, a guess, or agent checks. */
import { type Context, type Scenario, scenario } from '../experiment/scenario.ts'
import { calibrateSpin, spinVariable } from '../launch/machine.ts'
import { Histogram } from '../load/histogram.ts'
import { latencyFigures } from '../report/load-figures.ts'
import { doorExpects } from './door-expects.ts'
import type { DoorMeasured, DoorRun } from './door-measured.ts'
import { doorPublished, doorView } from './door-view.ts'
import { needHaproxy, startHaproxy } from './fleet-haproxy.ts'
import { startInstance } from './fleet-instance.ts'

/** Options of HAProxy's server line; `asks` stands for the agent check, and `direct` has no HAProxy. */
const LINES: Readonly<Record<string, string | undefined>> = {
  direct: undefined,
  untold: '',
  // A careful guess: more concurrent requests than are needed to keep one core busy.
  'static maxconn': 'maxconn 10',
  told: 'asks',
}
const STANDING = 1500
const TIMEOUT_MS = 3000
/** Interval at which HAProxy's maxconn is read. */
const LOOK_MS = 250

export const door: Scenario<unknown> = scenario<DoorMeasured>({
  name: 'door',
  title: 'The door in front',
  story:
    'One service that burns 5 ms of CPU a request, offered up to 100 times what it can do, alone and behind HAProxy.',
  published: doorPublished,
  arms: [
    { name: 'direct', kind: 'bare', what: 'the service alone; meltproof protects it, here and in the other arms' },
    { name: 'untold', kind: 'also', what: 'behind HAProxy with deploy/haproxy/haproxy.cfg, but without its agent' },
    { name: 'static maxconn', kind: 'also', what: 'the same, and with maxconn 10, as a careful operator may guess' },
    { name: 'told', kind: 'protected', what: 'behind HAProxy with deploy/haproxy/haproxy.cfg as it is' },
  ],
  expects: doorExpects,
  blank: () => ({ ownCores: false, runs: [] }),
  async run(context, measured) {
    needHaproxy()
    const { cores } = context
    measured.ownCores = cores !== undefined && cores.dependency !== cores.lab
    const env = { [spinVariable]: String(await calibrateSpin(cores?.server)) }
    for (let round = 0; round < context.pick({ quick: 1, full: 3 }); round++) {
      for (const load of context.pick({ brief: [10], quick: [50, 100], full: [50, 100] })) {
        const capacity = await capacityOf(context, env)
        for (const [arm, line] of Object.entries(LINES)) {
          measured.runs.push(await measure(context, { arm, line, load, capacity }, env))
        }
      }
    }
  },
  view: doorView,
})

/** The maximum rate of a warm service alone, without meltproof or HAProxy. */
async function capacityOf(context: Context, env: Readonly<Record<string, string>>): Promise<number> {
  const { app } = await startInstance(context, false, env)
  const request = { url: app.origin, users: 8, warmUp: true }
  await context.load('warming up', { ...request, durationMs: context.pick({ brief: 500, quick: 1500, full: 1500 }) })
  const durationMs = context.pick({ brief: 500, quick: 3000, full: 3000 })
  const { good, elapsedMs } = await context.load('what it can do', { ...request, durationMs })
  await app.stop()
  return (1000 * good) / elapsedMs
}

interface Cell {
  readonly arm: string
  readonly line: string | undefined
  readonly load: number
  readonly capacity: number
}

async function measure(context: Context, cell: Cell, env: Readonly<Record<string, string>>): Promise<DoorRun> {
  const { arm, line, load, capacity } = cell
  const instance = await startInstance(context, true, env)
  const haproxy = line === undefined ? undefined : await startHaproxy(context, [instance], { line })
  const sampling = haproxy && context.sample(LOOK_MS, async () => Number((await haproxy.servers('slim'))[0]))
  const durationMs = context.pick({ brief: 1500, quick: 8000, full: 8000 })
  const outcome = await context.load(`${arm} ${load}x`, {
    url: `${haproxy?.origin ?? instance.app.origin}/`,
    rate: load * capacity,
    durationMs,
    connections: context.pick({ brief: 200, quick: STANDING, full: STANDING }),
    spacing: 'poisson',
    timeoutMs: TIMEOUT_MS,
  })
  const samples = (await sampling?.stop()) ?? []
  instance.app.check()
  haproxy?.app.check()
  await haproxy?.app.stop()
  await instance.app.stop()
  const { okLatency, shedLatency, otherLatency, scheduled } = outcome
  const { p50, p99 } = latencyFigures(okLatency)
  const all = Histogram.merged([okLatency, shedLatency, otherLatency])
  return {
    ...{ arm, load, capacity, p50Ms: p50, p99Ms: p99 },
    kept: (1000 * outcome.good) / durationMs / capacity,
    longestMs: all.max,
    noAnswer: scheduled - all.count,
    good: outcome.seconds.map(({ good }) => good),
    maxconn: samples.map(({ atMs, value }) => [Math.round(atMs), value]),
  }
}
