/** Models of a core. A `Core` returns the wall time, ms, that `cpuMs` of CPU takes from `nowMs` on. */
import type { Random } from './random.ts'

export type Core = (nowMs: number, cpuMs: number) => number

/** A core that no other process uses. */
export const wholeCore: Core = (_, cpuMs) => cpuMs

/** A share of a core that changes with time: 1 alone, 0.5 next to an equally busy process. */
export function sharedCore(share: (nowMs: number) => number): Core {
  return (nowMs, cpuMs) => cpuMs / share(nowMs)
}

/**
 * A neighbour whose demand changes at random. In each stretch of `everyMs` it leaves between `least` and all of the
 * core.
 */
export function noisyNeighbour(random: Random, least: number, everyMs: number): Core {
  const shares: number[] = []
  return sharedCore(nowMs => {
    const stretch = Math.floor(nowMs / everyMs)
    while (shares.length <= stretch) shares.push(least + (1 - least) * random.next())
    return shares[stretch]!
  })
}

/** Mean times, ms, of other processes that take the core now and then, whatever this process does. */
export interface Slices {
  /** Time between two visits. */
  readonly everyMs: number
  /** Length of one slice. */
  readonly forMs: number
  /**
   * Slices per visit. After each slice this process runs for the same time, because a fair scheduler halves the core.
   * @default 1
   */
  readonly inARow?: number
}

/** Gaps and slices are exponential. A slice that falls into an idle time of this process does not delay it. */
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
 * Pauses at known times, in order. Each pause interrupts the work under way, or delays the next work. Use one
 * instance per run, because it remembers which pauses are over.
 */
export function interrupted(pauses: readonly (readonly [atMs: number, forMs: number])[]): Core {
  let next = 0
  return (nowMs, cpuMs) => {
    let wall = cpuMs
    for (; next < pauses.length && pauses[next]![0] < nowMs + wall; next++) wall += pauses[next]![1]
    return wall
  }
}

/** Returns the share of the core that these slices leave, on average. */
export function leftBy({ everyMs, forMs, inARow = 1 }: Slices): number {
  const taken = inARow * forMs
  return 1 - taken / (everyMs + (inARow - 1) * forMs + taken)
}

/**
 * A CPU quota as Linux's CFS bandwidth control enforces it: `quotaMs` of CPU in every period. Once it is spent, the
 * process stops until the next period. The quota applies only between `fromMs` and `toMs`.
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
