/**
 * Cold starts near capacity on realistic machines: no code is compiled yet, garbage is collected, and other processes
 * take slices of the core. Without these three effects the simulator sheds nothing where real servers do. The figures
 * for them come from the recordings (recorded/).
 */
import { type Core, leftBy, type Slices, stolenSlices } from './core.ts'
import type { Random } from './random.ts'
import { cpu5, type Scenario } from './scenarios.ts'
import type { Step, Workload } from './workload.ts'

export interface Machine {
  readonly name: string
  /** The slices of the core that other processes take. */
  readonly slices: Slices
}

export const MACHINES: readonly Machine[] = [
  // The kernel and the process's own threads take this much.
  { name: 'alone', slices: { everyMs: 100, forMs: 1.1 } },
  // Another process uses the core for a fifth of a second every few seconds. Linux gives each of the two 4 ms at a
  // time.
  { name: 'beside a neighbour', slices: { everyMs: 3000, forMs: 4, inARow: 25 } },
]

/** Returns this workload for a process that has just started on this machine. */
export function cold(workload: Workload, { slices }: Machine): Workload {
  const core = (random: Random): Core => stolenSlices(random, slices)
  return { warmUp: { times: 1.1, requests: 300 }, gc: { everyRequests: 200, pauseMs: 4 }, ...workload, core }
}

/** CPU for parsing, routing and writing, ms. It matters next to a route of 0.2 ms. */
const HANDLING_MS = 0.1

const heavy = (): Step[] => Array.from({ length: 4 }, (): Step[] => ['yield', { cpu: 5 }]).flat()
const cheap = (): Step[] => [{ cpu: 0.2 + HANDLING_MS }]
const CPU5 = 1000 / 5.0356
const HEAVY = 1000 / 20.0356

/** Mixes 200 cheap requests per second with `heavyRate` heavy ones. */
function cheapBeside(heavyRate: number): Workload {
  const total = heavyRate + 200
  return {
    rate: () => total,
    steps: heavy,
    kinds: [
      { share: 200 / total, steps: cheap },
      { share: heavyRate / total, steps: heavy },
    ],
  }
}

const SECONDS = 12

/**
 * Real frameworks compile far more code than a bare handler, so their first requests take several times as long. At
 * 70 % of the warm capacity, a queue of up to 0.8 s builds up and drains. Without admission every request is answered
 * within a second.
 */
const FRAMEWORKS: readonly Scenario[] = [
  { name: 'a small framework, cold, at 0.7x', rate: 900, cpuMs: 0.75, warmUp: { times: 8, requests: 200 } },
  {
    name: 'a framework that warms up slowly, cold, at 0.7x',
    rate: 900,
    cpuMs: 0.75,
    warmUp: { times: 4, requests: 600 },
  },
  { name: 'a heavy framework, cold, at 0.7x', rate: 154, cpuMs: 4.5, warmUp: { times: 5, requests: 60 } },
].map(({ name, rate, cpuMs, warmUp }) => ({
  name,
  workload: { rate: () => rate, steps: () => [{ cpu: cpuMs }], warmUp, gc: { everyRequests: 200, pauseMs: 4 } },
  seconds: SECONDS,
  ideal: () => rate,
  changesAt: [],
  noShed: true,
}))

/**
 * Loads are multiples of the capacity of a warm core on that machine. No request needs to be shed: without admission,
 * (nearly) all are answered in time.
 */
const NEAR_CAPACITY: readonly Scenario[] = MACHINES.flatMap(machine => {
  const core = leftBy(machine.slices)
  return [
    ...[0.9, 1].map(load => ({
      name: `5 ms of CPU, cold, at ${load}x, ${machine.name}`,
      workload: { rate: () => load * core * CPU5, steps: cpu5 },
    })),
    { name: `cheap and heavy, cold, at 0.9x, ${machine.name}`, workload: cheapBeside(0.9 * core * HEAVY) },
  ].map(({ name, workload }) => ({
    name,
    workload: cold(workload, machine),
    seconds: SECONDS,
    ideal: workload.rate,
    changesAt: [],
    noShed: true,
  }))
})

export const COLD_STARTS: readonly Scenario[] = [...NEAR_CAPACITY, ...FRAMEWORKS]
