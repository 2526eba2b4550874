/** All limiters that are compared. The one that meltproof ships comes first. */
import { ConcurrencyLimiter } from '../../src/admission/limiter/concurrency-limiter.ts'
import { fixedLimit } from '../../src/admission/limiter/limiter.ts'
import { LIMITER_TUNING } from '../../src/admission/limiter/tuning.ts'
import type { MakesLimiter } from '../instance.ts'
import { AimdCodelLimiter } from './aimd-codel.ts'
import { BbrLimiter } from './bbr.ts'
import { BreakwaterLimiter } from './breakwater.ts'
import { CinnamonLimiter } from './cinnamon.ts'
import { DagorLimiter } from './dagor.ts'
import { Gradient2Limiter } from './gradient2.ts'
import { SimpleLimiter } from './simple.ts'
import { VegasLimiter } from './vegas.ts'

export const LIMITERS: Readonly<Record<string, MakesLimiter>> = {
  meltproof: (busyMs, cpuMs) => new ConcurrencyLimiter(busyMs, LIMITER_TUNING, cpuMs),
  simple: busyMs => new SimpleLimiter(busyMs),
  Vegas: () => new VegasLimiter(),
  Gradient2: () => new Gradient2Limiter(),
  BBR: () => new BbrLimiter(),
  'AIMD + CoDel': () => new AimdCodelLimiter(),
  Breakwater: () => new BreakwaterLimiter(),
  DAGOR: () => new DagorLimiter(),
  Cinnamon: () => new CinnamonLimiter(),
  'no limit': () => fixedLimit(100_000),
}
