/**
 * Who was slow: whoever took the greatest share. Pure, and nothing else decides it: whoever doubts a verdict has the
 * shares beside it.
 */
import type { Shares, Verdict } from '../record.ts'

/**
 * When shares are equal what we can prove (a stall of ours, a peer's own statement) goes before what is merely left over.
 */
export function verdictOf(shares: Shares): Verdict {
  const { loopMs, dependencyMs, networkMs, selfMs } = shares
  if (loopMs > 0 && loopMs >= dependencyMs && loopMs >= networkMs && loopMs >= selfMs) return 'loop'
  if (dependencyMs > 0 && dependencyMs >= networkMs && dependencyMs >= selfMs) return 'dependency'
  return networkMs > 0 && networkMs >= selfMs ? 'network' : 'self'
}
