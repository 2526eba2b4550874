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
  let verdict: Verdict = 'self'
  let most = 0
  for (const candidate of ORDER) {
    const share = shares[SHARE[candidate]]
    if (share > most) {
      most = share
      verdict = candidate
    }
  }
  return verdict
}

/** The verdict with the figures that led to it, in a sentence for a log. */
export function explainVerdict(shares: Shares): string {
  const verdict = verdictOf(shares)
  const whole = shares.loopMs + shares.dependencyMs + shares.networkMs + shares.selfMs
  const figures = ORDER.map(part => `${part} ${Math.round(shares[SHARE[part]])}`).join(', ')
  return `${verdict}: ${Math.round(shares[SHARE[verdict]])} of ${Math.round(whole)} ms (${figures})`
}
