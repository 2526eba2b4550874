/** The verdict on what was slow: the greatest share. Pure; nothing else decides it. */
import type { Shares, Verdict } from '../record.ts'

/** Among equals, what can be proved (a stall of ours, a peer's own statement) goes before what is left over. */
export function verdictOf({ loopMs, dependencyMs, networkMs, selfMs }: Shares): Verdict {
  if (loopMs > 0 && loopMs >= dependencyMs && loopMs >= networkMs && loopMs >= selfMs) return 'loop'
  if (dependencyMs > 0 && dependencyMs >= networkMs && dependencyMs >= selfMs) return 'dependency'
  return networkMs > 0 && networkMs >= selfMs ? 'network' : 'self'
}
