/**
 * Who was slow: whoever took the greatest share. Pure, and nothing else decides it: whoever doubts a verdict has the
 * shares beside it.
 */
import type { Shares, Verdict } from '../record.ts'

/**
 * In this order when shares are equal. What we can prove (a stall of ours, a peer's own statement) goes before what is
 * merely left over.
 */
const ORDER: readonly Verdict[] = ['loop', 'dependency', 'network', 'self']

const SHARE: Readonly<Record<Verdict, keyof Shares>> = {
  loop: 'loopMs',
  dependency: 'dependencyMs',
  network: 'networkMs',
  self: 'selfMs',
}

export function verdictOf(shares: Shares): Verdict {
  const { loopMs, dependencyMs, networkMs, selfMs } = shares
  if (loopMs > 0 && loopMs >= dependencyMs && loopMs >= networkMs && loopMs >= selfMs) return 'loop'
  if (dependencyMs > 0 && dependencyMs >= networkMs && dependencyMs >= selfMs) return 'dependency'
  return networkMs > 0 && networkMs >= selfMs ? 'network' : 'self'
}

/** The verdict with the figures that led to it, in a sentence for a log. */
export function explainVerdict(shares: Shares): string {
  const verdict = verdictOf(shares)
  const whole = shares.loopMs + shares.dependencyMs + shares.networkMs + shares.selfMs
  const figures = ORDER.map(part => `${part} ${Math.round(shares[SHARE[part]])}`).join(', ')
  return `${verdict}: ${Math.round(shares[SHARE[verdict]])} of ${Math.round(whole)} ms (${figures})`
}
