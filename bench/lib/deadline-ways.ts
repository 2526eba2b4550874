/**
 * Ways to put a time limit on work, for bench/deadline.ts: each is begun and ended at once, or begun and left pending.
 */
import { TimeoutStrategy, timeout } from 'cockatiel'
import pTimeout from 'p-timeout'
import { startFairTimer } from '../../packages/meltproof/src/deadline/fair-timer.ts'
import { within } from '../../packages/meltproof/src/deadline/within.ts'

export interface Way {
  /** Limits work that ends at once, and removes the limit where the way can do so. */
  once(ms: number): unknown
  /** Limits work that does not end. Returns an object that keeps the limit alive. */
  pending(ms: number): unknown
}

const nothing = (): void => {}
const done = Promise.resolve()
const never = new Promise<never>(() => {})
const policies = new Map<number, ReturnType<typeof timeout>>()
const policy = (ms: number): ReturnType<typeof timeout> => {
  const known = policies.get(ms)
  if (known !== undefined) return known
  const made = timeout(ms, TimeoutStrategy.Aggressive)
  policies.set(ms, made)
  return made
}

export const WAYS: Readonly<Record<string, Way>> = {
  'fair timer (what every limit of meltproof is made of)': {
    once: ms => startFairTimer(ms, nothing).cancel(),
    pending: ms => startFairTimer(ms, nothing),
  },
  'setTimeout + clearTimeout': {
    once: ms => clearTimeout(setTimeout(nothing, ms)),
    pending: ms => setTimeout(nothing, ms),
  },
  'AbortController + setTimeout + clearTimeout': {
    once: ms => {
      const controller = new AbortController()
      controller.signal.addEventListener('abort', nothing)
      clearTimeout(setTimeout(() => controller.abort(), ms))
    },
    pending: ms => {
      const controller = new AbortController()
      controller.signal.addEventListener('abort', nothing)
      return setTimeout(() => controller.abort(), ms)
    },
  },
  // It cannot be cancelled: it stays until it fires.
  'AbortSignal.timeout + listener': {
    once: ms => AbortSignal.timeout(ms).addEventListener('abort', nothing),
    pending: ms => {
      const signal = AbortSignal.timeout(ms)
      signal.addEventListener('abort', nothing)
      return signal
    },
  },
  'within(ms, fn(signal))': {
    once: ms => within(ms, () => done),
    pending: ms => within(ms, () => never),
  },
  'p-timeout': {
    once: ms => pTimeout(done, { milliseconds: ms }),
    pending: ms => pTimeout(never, { milliseconds: ms }),
  },
  'cockatiel timeout policy': {
    once: ms => policy(ms).execute(() => done),
    pending: ms => policy(ms).execute(() => never),
  },
}
