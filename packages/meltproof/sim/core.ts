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

/** Others who take the core now and then, whatever we do; on average, ms. */
export interface Slices {
  /** Between one visit and the next. */
  readonly everyMs: number
  /** One slice. */
  readonly forMs: number
  /** So many slices a visit, each of them after as long a turn of ours: a fair scheduler halves the core meanwhile. */
  readonly inARow?: number
}

/** Gaps and slices are exponential. A slice that begins while we rest has passed when we want to work. */
export function stolenSlices(random: Random, { everyMs, forMs, inARow = 1 }: Slices): Core {
  let from = random.exponential(everyMs)
  let until = from + random.exponential(forMs)
  return (nowMs, cpuMs) => {
    let now = nowMs
    for (let left = cpuMs; left > 0; ) {
      if (now >= until) {
        from = until + random.exponential(random.next() < 1 / inARow ? everyMs : forMs)
        until = from + random.exponential(forMs)
      } else if (now >= from) now = until
      else {
        const runs = Math.min(left, from - now)
        left -= runs
        now += runs
      }
    }
    return now - nowMs
  }
}

/**
 * Pauses at known times, in order: in the middle of what runs then, or of what runs next. Made for one run: it remembers
 * which are over.
 */
export function interrupted(pauses: readonly (readonly [atMs: number, forMs: number])[]): Core {
  let next = 0
  return (nowMs, cpuMs) => {
    let wall = cpuMs
    for (; next < pauses.length && pauses[next]![0] < nowMs + wall; next++) wall += pauses[next]![1]
    return wall
  }
}

/** What such others leave of the core. */
export function leftBy({ everyMs, forMs, inARow = 1 }: Slices): number {
  const taken = inARow * forMs
  return 1 - taken / (everyMs + (inARow - 1) * forMs + taken)
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
