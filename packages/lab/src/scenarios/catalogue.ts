/** Every scenario there is, in the order `meltlab list` shows them. A new one is added here. */
import { blackhole } from './blackhole.ts'
import { blame } from './blame.ts'
import { burst, burstFresh } from './burst.ts'
import { database } from './database.ts'
import { domino } from './domino.ts'
import { drip } from './drip.ts'
import { logging } from './logging.ts'
import type { Scenario } from '../experiment/scenario.ts'
import { ticks } from './ticks.ts'
import { tide } from './tide.ts'
import { timeouts } from './timeouts.ts'

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
]
