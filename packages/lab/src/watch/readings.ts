/** What the processes of a watched command tell of themselves, put together a moment at a time. Pure. */

/** One line of meltproof/register's reporter. Bytes, milliseconds; `shed` and `admitted` since the start. */
export interface Told {
  readonly pid: number
  readonly heapUsed: number
  readonly utilization: number
  readonly loopDelay: { readonly p99Ms: number; readonly maxMs: number }
  readonly guards: number
  readonly inflight: number
  readonly queued: number
  readonly limit: number
  readonly admitted: number
  readonly shed: number
}

/** The event loop that reported it. Worker threads report for themselves, under the process id they share. */
export type Source = object

/** All processes over one interval. Null where no process said anything. */
export interface Inside {
  readonly processes: number
  readonly heapBytes: number
  /** Of the busiest loop, 0 to 1. */
  readonly utilization: number
  /** Of the slowest loop, ms. */
  readonly loopDelayP99Ms: number
  readonly loopDelayMaxMs: number
  /** Undefined while nothing is protected. */
  readonly guard:
    | {
        readonly inflight: number
        readonly queued: number
        readonly limit: number
        readonly admittedPerS: number
        readonly shedPerS: number
      }
    | undefined
}

/** A line that is not what it should be is nothing. */
export function readTold(line: string): Told | undefined {
  try {
    const told = JSON.parse(line) as Partial<Told>
    const numbers = [told.pid, told.heapUsed, told.utilization, told.loopDelay?.p99Ms, told.loopDelay?.maxMs]
    const counts = [told.guards, told.inflight, told.queued, told.limit, told.admitted, told.shed]
    return [...numbers, ...counts].every(Number.isFinite) ? (told as Told) : undefined
  } catch {
    return undefined
  }
}

export class Readings {
  #lines: { readonly told: Told; readonly source: Source }[] = []
  /** Weak: a command may start processes for ever. */
  readonly #counts = new WeakMap<Source, { admitted: number; shed: number }>()

  add(told: Told, source: Source): void {
    this.#lines.push({ told, source })
  }

  /** What was told since the last call, over `seconds`. */
  take(seconds: number): Inside | null {
    const lines = this.#lines
    this.#lines = []
    if (lines.length === 0) return null
    const latestOf = new Map(lines.map(({ told, source }) => [source, told]))
    const latest = [...latestOf.values()]
    const sum = (read: (told: Told) => number): number => latest.reduce((total, told) => total + read(told), 0)
    const most = (read: (told: Told) => number): number => lines.reduce((top, { told }) => Math.max(top, read(told)), 0)
    let admitted = 0
    let shed = 0
    for (const [source, told] of latestOf) {
      const before = this.#counts.get(source) ?? { admitted: 0, shed: 0 }
      admitted += told.admitted - before.admitted
      shed += told.shed - before.shed
      this.#counts.set(source, { admitted: told.admitted, shed: told.shed })
    }
    return {
      processes: new Set(latest.map(told => told.pid)).size,
      heapBytes: sum(told => told.heapUsed),
      utilization: most(told => told.utilization),
      loopDelayP99Ms: most(told => told.loopDelay.p99Ms),
      loopDelayMaxMs: most(told => told.loopDelay.maxMs),
      guard: latest.some(told => told.guards > 0)
        ? {
            inflight: sum(told => told.inflight),
            queued: sum(told => told.queued),
            limit: sum(told => told.limit),
            admittedPerS: admitted / seconds,
            shedPerS: shed / seconds,
          }
        : undefined,
    }
  }
}
