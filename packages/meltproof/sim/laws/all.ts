/** Every law that is compared, the one meltproof ships first. */
import { ConcurrencyLimiter } from '../../src/admission/concurrency-limiter.ts'
import { fixedLimit, type LimitLaw } from '../../src/admission/limit.ts'
import { AimdCodelLaw } from './aimd-codel.ts'
import { BbrLaw } from './bbr.ts'
import { BreakwaterLaw } from './breakwater.ts'
import { CinnamonLaw } from './cinnamon.ts'
import { DagorLaw } from './dagor.ts'
import { Gradient2Law } from './gradient2.ts'
import { VegasLaw } from './vegas.ts'

export const LAWS: Readonly<Record<string, (busyMs: () => number) => LimitLaw>> = {
  meltproof: busyMs => new ConcurrencyLimiter(busyMs),
  Vegas: () => new VegasLaw(),
  Gradient2: () => new Gradient2Law(),
  BBR: () => new BbrLaw(),
  'AIMD + CoDel': () => new AimdCodelLaw(),
  Breakwater: () => new BreakwaterLaw(),
  DAGOR: () => new DagorLaw(),
  Cinnamon: () => new CinnamonLaw(),
  'no limit': () => fixedLimit(10_000),
}
