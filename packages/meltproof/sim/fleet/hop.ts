/**
 * A tier calls another and retries failures, with three attempts in all by default. It retries unconditionally, like a
 * simple client, or like retry() of meltproof/outbound: within a budget, and at one tier of the chain (docs/tiers.md).
 */
import type { Chain } from '../../src/chain.ts'
import type { RetryBudget } from '../../src/outbound/retry-budget.ts'
import type { Random } from '../random.ts'
import type { FleetClock } from './clock.ts'
import type { End, Front } from './front.ts'

/** The defaults of retry(). */
const ATTEMPTS = 3
const BASE_MS = 50
const MOST_WAIT_MS = 1000

export interface Hop {
  readonly clock: FleetClock
  readonly front: Front
  readonly random: Random
  /** Timeout of one attempt, ms. */
  readonly timeoutMs: number
  /** Undefined disables the retry budget and the retry marks. */
  readonly budget: RetryBudget | undefined
  /** @default 3 */
  readonly attempts?: number
}

/** `chain` is the chain of the request that makes the call. */
export function callThrough(
  { clock, front, random, timeoutMs, budget, attempts = ATTEMPTS }: Hop,
  createdAt: number,
  chain: Chain,
  ended: (end: End | 'timeout', atMs: number) => void,
): void {
  budget?.attempted()
  const tell = budget !== undefined
  const attempt = (count: number): void => {
    let isOver = false
    const over = (end: End | 'timeout', mark: boolean): void => {
      if (isOver) return
      isOver = true
      if (mark && tell) chain.spend()
      if (end === 'answered' || count >= attempts || !mayTryAgain()) {
        ended(end, clock.nowMs)
        return
      }
      clock.at(clock.nowMs + random.next() * Math.min(MOST_WAIT_MS, BASE_MS * 2 ** (count - 1)), () => {
        if (tell) {
          if (isLast()) {
            ended(end, clock.nowMs)
            return
          }
          chain.retried = true
          chain.spend()
        }
        attempt(count + 1)
      })
    }
    const leave = front.send({
      createdAt,
      retried: tell && chain.retried,
      ended: (end, _, mark) => over(end, mark),
    })
    clock.at(clock.nowMs + timeoutMs, () => {
      if (isOver) return
      leave()
      over('timeout', false)
    })
  }
  const isLast = (): boolean => chain.spent || chain.retried
  const mayTryAgain = (): boolean => budget === undefined || (!isLast() && budget.take(clock.nowMs))
  attempt(1)
}
