/** The list of all scenarios. Add new ones here. */
import { blackhole } from './blackhole.ts'
import { blame } from './blame.ts'
import { burst } from './burst.ts'
import { burstFresh } from './burst-fresh.ts'
import { database } from './database.ts'
import { domino } from './domino.ts'
import { door } from './door.ts'
import { drip } from './drip.ts'
import { fleet } from './fleet.ts'
import { fleetCpu } from './fleet-cpu.ts'
import { logging } from './logging.ts'
import type { Scenario } from '../experiment/scenario.ts'
import { MODES, WORKLOADS } from './overload/workloads.ts'
import { overload } from './overload/overload.ts'
import { ticks } from './ticks.ts'
import { tide } from './tide.ts'
import { timeouts } from './timeouts.ts'

/** In the order of `meltlab list`. */
export const catalogue: readonly Scenario<unknown>[] = [
  burst,
  burstFresh,
  timeouts,
  domino,
  blackhole,
  drip,
  database,
  logging,
  tide,
  ticks,
  blame,
  door,
  fleet,
  fleetCpu,
]

/** The scoreboard's workloads, each with standing and with new connections. `all` omits them: they take hours. */
export const scoreboard: readonly Scenario<unknown>[] = Object.keys(WORKLOADS).flatMap(workload =>
  MODES.map(mode => overload({ workload, mode })),
)
