/**
 * Scenarios that were written before the simulator had run once. Nothing is tuned on them. One was corrected after its
 * first run: it used several kinds of requests, but members know only one.
 */
import { noisyNeighbour } from '../core.ts'
import { cpu5 } from '../scenarios.ts'
import type { Step, Workload } from '../workload.ts'
import { COLD } from './development.ts'
import { restarts } from './restarts.ts'
import type { FleetScenario } from './scenario.ts'
import { AROUND_A_WAIT, between, constant, CPU, failing, full, pooled, type Speed } from './services.ts'

const times = <T>(count: number, each: T): T[] => Array.from({ length: count }, () => each)
const SMALL_POOL = pooled(20, 20)
const sum = (speeds: readonly Speed[], s: number): number =>
  speeds.reduce((all, speed) => all + speed(s * 1000 + 500), 0)

/** 100 ms of CPU in slices of 5 ms: ten requests a second. */
const HEAVY_STEPS: readonly Step[] = Array.from({ length: 39 }, (_, i): Step => (i % 2 === 0 ? { cpu: 5 } : 'yield'))
const HEAVY = 1000 / 100.0356

/** One request in five uses the core, the others use the pool. */
const mixed = (speed: Speed): Workload => {
  const pool = SMALL_POOL.at(speed)
  return { ...pool, steps: (random, nowMs) => (random.next() < 0.2 ? cpu5() : pool.steps(random, nowMs)) }
}
/** Requests per second of one core if a fifth burn 5 ms and the others 0.2 ms; parsing adds 0.0356 ms to each. */
const MIXED = 1000 / (0.2 * 5 + 0.8 * 0.2 + 0.0356)

const three = [constant(0.5), full, constant(0.75)]
const unequal = [constant(0.5), constant(0.5), constant(0.33), full, full, full]
const passing = [between(0.25, 15, 35), ...times(11, full)]
const ramp = (s: number): number =>
  s < 30 ? 0.3 + (1.2 * s) / 30 : s < 45 ? 1.5 : Math.max(0.3, 1.5 - (1.2 * (s - 45)) / 15)

export const HELD_OUT: readonly FleetScenario[] = [
  {
    name: 'six unequal, twenty connections each, twelve balancers',
    seconds: 60,
    rate: () => 0.9 * sum(unequal, 0) * SMALL_POOL.capacity,
    tiers: [{ members: unequal.map(speed => SMALL_POOL.at(speed)), balancers: 12 }],
    ideal: () => sum(unequal, 0) * SMALL_POOL.capacity,
  },
  {
    name: 'one of twelve is slow for twenty seconds, core and pool mixed',
    seconds: 60,
    changesAt: [15],
    rate: () => 0.85 * sum(passing, 20) * MIXED,
    tiers: [{ members: passing.map(mixed) }],
    ideal: s => sum(passing, s) * MIXED,
  },
  {
    name: 'five beside neighbours that come and go',
    seconds: 60,
    // The neighbour leaves between half of the core and all of it, three quarters on average.
    rate: () => 0.85 * 5 * 0.75 * CPU.capacity,
    tiers: [{ members: times(5, CPU.at(full, { core: random => noisyNeighbour(random, 0.5, 4000) })) }],
    ideal: () => 5 * 0.75 * CPU.capacity,
  },
  {
    name: 'three unequal, from 0.3 to 1.5 times and back',
    seconds: 70,
    rate: nowMs => ramp(nowMs / 1000) * sum(three, 0) * AROUND_A_WAIT.capacity,
    tiers: [{ members: three.map(speed => AROUND_A_WAIT.at(speed)) }],
    ideal: () => sum(three, 0) * AROUND_A_WAIT.capacity,
  },
  {
    name: 'one of twenty crashes again and again',
    seconds: 60,
    rate: () => 0.8 * 19 * CPU.capacity,
    tiers: [{ members: times(20, CPU.at(full, { warmUp: COLD })) }],
    ideal: () => 19 * CPU.capacity,
    events: ({ clock, members }) => {
      clock.every(8000, 10_000, () => {
        members[3]!.crash()
        clock.at(clock.nowMs + 3000, () => members[3]!.start())
      })
    },
  },
  {
    name: 'six with a pool each restart one by one',
    seconds: 100,
    rate: () => 0.75 * 6 * SMALL_POOL.capacity,
    tiers: [{ members: times(6, SMALL_POOL.at(full, { warmUp: COLD })) }],
    ideal: () => 5 * SMALL_POOL.capacity,
    events: fleet => restarts(fleet, 10, 3),
  },
  {
    name: 'the lower of two tiers answers 500 for five seconds',
    seconds: 40,
    changesAt: [15],
    attempts: 3,
    rate: () => 0.8 * 4 * CPU.capacity,
    tiers: [
      { members: times(4, { rate: () => 0, steps: (): Step[] => [{ cpu: 0.3 }, { cpu: 0.3 }] }) },
      { members: times(4, failing(CPU.at(full), 10, 15)) },
    ],
    ideal: s => (s >= 10 && s < 15 ? 0 : 4 * CPU.capacity),
  },
  {
    name: 'four of heavy requests, one at a quarter: a few a second each',
    seconds: 90,
    rate: () => 0.8 * 3.25 * HEAVY,
    tiers: [
      {
        members: [constant(0.25), full, full, full].map(speed => CPU.at(speed, { steps: () => HEAVY_STEPS })),
      },
    ],
    ideal: () => 3.25 * HEAVY,
  },
]
