/** What the machine gives the process: how much wall time so much CPU takes, from a time on. */
import type { Random } from './random.ts'

export type Core = (nowMs: number, cpuMs: number) => number

/** A core of our own. */
export const wholeCore: Core = (_, cpuMs) => cpuMs

/** A share of a core that changes with time: 1 alone, 0.5 beside a neighbour as hungry as we are. */
export function sharedCore(share: (nowMs: number) => number): Core {
  return (nowMs, cpuMs) => cpuMs / share(nowMs)
}

/** A neighbour whose hunger changes at random: for every stretch of `everyMs` it leaves us between `least` and all. */
export function noisyNeighbour(random: Random, least: number, everyMs: number): Core {
  const shares: number[] = []
  return sharedCore(nowMs => {
    const stretch = Math.floor(nowMs / everyMs)
    while (shares.length <= stretch) shares.push(least + (1 - least) * random.next())
    return shares[stretch]!
  })
}

/**
 * A CPU quota as Linux's CFS bandwidth control enforces it: so much CPU in every period, and once it is spent the
 * process stands still until the next. From and to: outside of these times there is no quota.
 */
export function cpuQuota(quotaMs: number, periodMs: number, fromMs: number, toMs: number): Core {
  let period = -1
  let spent = 0
  return (nowMs, cpuMs) => {
    let now = nowMs
    let left = cpuMs
    while (left > 1e-9) {
      if (now < fromMs || now >= toMs) return now + left - nowMs
      const current = Math.floor(now / periodMs)
      if (current !== period) {
        period = current
        spent = 0
      }
      const ends = (current + 1) * periodMs
      const runs = Math.min(left, quotaMs - spent, ends - now)
      spent += runs
      left -= runs
      now += runs
      if (left > 1e-9 && spent >= quotaMs - 1e-9) now = ends
    }
    return now - nowMs
  }
}
