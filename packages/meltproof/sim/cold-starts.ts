/**
 * Cold starts near the capacity, on machines as they are: the compiler has seen nothing yet, there is garbage, and others
 * take slices of the core. Without these three the simulator sheds nobody where real servers do. Their figures are those
 * of the recordings (recorded/).
 */
import { type Core, leftBy, type Slices, stolenSlices } from './core.ts'
import type { Random } from './random.ts'
import { cpu5, type Scenario } from './scenarios.ts'
import type { Step, Workload } from './workload.ts'

export interface Machine {
  readonly name: string
  /** Who else uses the core. */
  readonly slices: Slices
}

export const MACHINES: readonly Machine[] = [
  // What the kernel and the process's own threads take.
  { name: 'alone', slices: { everyMs: 100, forMs: 1.1 } },
  // Another process wants the core for a fifth of a second every few; Linux gives each of them 4 ms at a time.
  { name: 'beside a neighbour', slices: { everyMs: 3000, forMs: 4, inARow: 25 } },
]

/** This work in a process that has just started, on this machine. */
export function cold(workload: Workload, { slices }: Machine): Workload {
  const core = (random: Random): Core => stolenSlices(random, slices)
  return { warmUp: { times: 1.1, requests: 300 }, gc: { everyRequests: 200, pauseMs: 4 }, ...workload, core }
}

/** Parsing, routing and writing, where it matters: beside a route of 0.2 ms; ms. */
const HANDLING_MS = 0.1

const heavy = (): Step[] => Array.from({ length: 4 }, (): Step[] => ['yield', { cpu: 5 }]).flat()
const cheap = (): Step[] => [{ cpu: 0.2 + HANDLING_MS }]
const CPU5 = 1000 / 5.0356
const HEAVY = 1000 / 20.0356

/** Cheap ones come 200 times a second beside so many heavy ones. */
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
 * Real frameworks compile far more than a bare handler: their first requests take several times as long. At 70 % of the
 * warm capacity a queue of up to 0.8 s builds up, and drains. Without admission everybody is served within the second.
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

/** Loads are multiples of what the core does on that machine, warm. Nobody needs to be shed: without admission (nearly) all are good. */
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
