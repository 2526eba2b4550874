/** Decides what was slow: the largest share, and nothing else. Pure. */
import type { Shares, Verdict } from '../record.ts'

/** Among equal shares, a proved one (by a stall, or by the peer's own figures) wins over an inferred one. */
export function verdictOf({ loopMs, dependencyMs, networkMs, selfMs }: Shares): Verdict {
  if (loopMs > 0 && loopMs >= dependencyMs && loopMs >= networkMs && loopMs >= selfMs) return 'loop'
  if (dependencyMs > 0 && dependencyMs >= networkMs && dependencyMs >= selfMs) return 'dependency'
  return networkMs > 0 && networkMs >= selfMs ? 'network' : 'self'
}
