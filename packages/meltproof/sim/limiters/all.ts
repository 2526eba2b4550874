/** Every limiter that is compared, the one meltproof ships first. */
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'
import { fixedLimit, type Limiter } from '../../src/admission/limiter/limiter.ts'
import { AimdCodelLimiter } from './aimd-codel.ts'
import { BbrLimiter } from './bbr.ts'
import { BreakwaterLimiter } from './breakwater.ts'
import { CinnamonLimiter } from './cinnamon.ts'
import { DagorLimiter } from './dagor.ts'
import { Gradient2Limiter } from './gradient2.ts'
import { evidence } from './evidence/as-limiter.ts'
import { SimpleLimiter } from './simple.ts'
import { VegasLimiter } from './vegas.ts'

export const LIMITERS: Readonly<Record<string, (busyMs: () => number) => Limiter>> = {
  meltproof: busyMs => new ConcurrencyLimiter(busyMs),
  evidence,
  simple: busyMs => new SimpleLimiter(busyMs),
  Vegas: () => new VegasLimiter(),
  Gradient2: () => new Gradient2Limiter(),
  BBR: () => new BbrLimiter(),
  'AIMD + CoDel': () => new AimdCodelLimiter(),
  Breakwater: () => new BreakwaterLimiter(),
  DAGOR: () => new DagorLimiter(),
  Cinnamon: () => new CinnamonLimiter(),
  'no limit': () => fixedLimit(10_000),
}
