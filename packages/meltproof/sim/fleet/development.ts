/** The scenarios that the simulator was built with. Anything may be tuned on them. */
import type { Workload } from '../workload.ts'
import type { Fleet, FleetPlan } from './fleet.ts'
import { restarts } from './restarts.ts'
import type { FleetScenario } from './scenario.ts'
import {
  AROUND_A_WAIT,
  between,
  constant,
  CPU,
  failing,
  full,
  POOL,
  type Service,
  type Speed,
  WAITS,
} from './services.ts'

/** A process that has just started is slower at first by this factor. */
export const COLD: NonNullable<Workload['warmUp']> = { times: 4, requests: 100 }

/** `load` is a multiple of the capacity that all members together have at `untilS`, in seconds. */
const fleetOf = (
  service: Service,
  speeds: readonly Speed[],
  load: number,
  untilS = 60,
): Pick<FleetScenario, 'rate' | 'tiers' | 'ideal'> => {
  const capacity = (nowMs: number): number => service.capacity * speeds.reduce((sum, speed) => sum + speed(nowMs), 0)
  const rate = load * capacity(untilS * 1000)
  return {
    rate: () => rate,
    tiers: [{ members: speeds.map(speed => service.at(speed)) }],
    ideal: s => capacity(s * 1000 + 500),
  }
}
const times = <T>(count: number, each: T): T[] => Array.from({ length: count }, () => each)
const oneOf = (count: number, odd: Speed): Speed[] => [odd, ...times(count - 1, full)]

/** Each of twenty balancers sees a twentieth of the requests, as sidecars do. */
function twenty(name: string, service: Service): FleetScenario {
  const { tiers, ...rest } = fleetOf(service, oneOf(4, constant(0.25)), 0.9)
  return { name, seconds: 60, ...rest, tiers: tiers.map(tier => ({ ...tier, balancers: 20 })) }
}

const at = (fleet: Fleet, s: number, what: () => void): void => fleet.clock.at(s * 1000, what)

const storm = (tiers: number): FleetPlan & Pick<FleetScenario, 'ideal' | 'from' | 'changesAt'> => {
  const above = (): Workload => ({ rate: () => 0, steps: () => [{ cpu: 0.3 }, { cpu: 0.3 }] })
  // Members run at a quarter of their speed for five seconds. Otherwise they have a third more capacity than the load.
  const slow = between(0.25, 10, 15)
  const rate = 0.75 * 4 * POOL.capacity
  return {
    seconds: 40,
    rate: () => rate,
    attempts: 3,
    tiers: [
      ...times(tiers - 1, { members: times(4, above()) }),
      { members: times(4, slow).map(speed => POOL.at(speed)) },
    ],
    ideal: s => (s >= 10 && s < 15 ? 1 : 4) * POOL.capacity,
    changesAt: [15],
  }
}

export const DEVELOPMENT: readonly FleetScenario[] = [
  { name: 'four unequal, CPU', seconds: 60, ...fleetOf(CPU, oneOf(4, constant(0.25)), 0.9) },
  { name: 'four unequal, a pool each', seconds: 60, ...fleetOf(POOL, oneOf(4, constant(0.25)), 0.9) },
  { name: 'four unequal, CPU around a wait', seconds: 60, ...fleetOf(AROUND_A_WAIT, oneOf(4, constant(0.25)), 0.9) },
  {
    name: 'one of four gets four times slower, CPU',
    seconds: 60,
    changesAt: [30],
    ...fleetOf(CPU, oneOf(4, between(0.25, 30)), 0.9),
  },
  {
    name: 'one of four gets four times slower, a pool each',
    seconds: 60,
    changesAt: [30],
    ...fleetOf(POOL, oneOf(4, between(0.25, 30)), 0.9),
  },
  twenty('four unequal, twenty balancers, CPU', CPU),
  twenty('four unequal, twenty balancers, a pool each', POOL),
  { name: 'four equal, a pool each', seconds: 60, ...fleetOf(POOL, times(4, full), 0.9) },
  { name: 'four unequal, CPU around a long wait', seconds: 60, ...fleetOf(WAITS, oneOf(4, constant(0.25)), 0.9) },
  {
    name: 'ten unequal, three times too many',
    seconds: 40,
    ...fleetOf(CPU, [constant(0.25), constant(0.5), ...times(8, full)], 3),
  },
  {
    name: 'one of eight answers nothing',
    seconds: 40,
    changesAt: [15],
    ...fleetOf(CPU, oneOf(8, between(0, 15)), 0.8),
    // The member hangs, so its core need not be slow.
    tiers: [{ members: times(8, CPU.at(full)) }],
    events: fleet => at(fleet, 15, () => fleet.members[0]!.hang()),
  },
  {
    name: 'one of eight answers 500 at once',
    seconds: 50,
    changesAt: [15],
    ...fleetOf(CPU, oneOf(8, between(0, 15)), 0.8),
    tiers: [{ members: [failing(CPU.at(full), 15, 60), ...times(7, CPU.at(full))] }],
  },
  {
    name: 'one of eight crashes, and starts anew',
    seconds: 40,
    changesAt: [18],
    ...fleetOf(CPU, oneOf(8, between(0, 15, 18)), 0.8),
    tiers: [{ members: times(8, CPU.at(full, { warmUp: COLD })) }],
    events: fleet => {
      at(fleet, 15, () => fleet.members[0]!.crash())
      at(fleet, 18, () => fleet.members[0]!.start())
    },
  },
  {
    name: 'ten restart one by one',
    seconds: 140,
    ...fleetOf(CPU, times(10, full), 0.7),
    tiers: [{ members: times(10, CPU.at(full, { warmUp: COLD })) }],
    events: fleet => restarts(fleet, 10, 2),
  },
  { name: 'a retry storm over three tiers', ...storm(3) },
]

/** Takes a minute, so it does not run every time. */
export const THOUSAND: FleetScenario = {
  name: 'a thousand, a tenth of them at a quarter',
  seconds: 30,
  ...fleetOf({ ...SLOW_CPU(), name: '40 ms of CPU' }, [...times(100, constant(0.25)), ...times(900, full)], 0.9),
}

/** Each member at full speed serves 25 requests a second. */
function SLOW_CPU(): Service {
  return {
    ...CPU,
    capacity: 1000 / (40 + 0.0356),
    at: (speed, more) => ({
      ...CPU.at(speed, more),
      steps: () => Array.from({ length: 15 }, (_, i) => (i % 2 === 0 ? { cpu: 5 } : 'yield')),
    }),
  }
}
