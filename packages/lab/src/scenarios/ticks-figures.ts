/** The figures of a run of operations at even intervals. Pure. */

export interface TickRun {
  readonly arm: string
  /** `free` or `pinned`. */
  readonly condition: string
  /** Requested operations per second. */
  readonly rate: number
  readonly achieved: number
  /** Distance of operations from their due times, ms; null without operations. */
  readonly lateP50Ms: number | null
  readonly lateP99Ms: number | null
}

export interface TicksMeasured {
  readonly runs: TickRun[]
  /** Why there is no Go arm; null if there is one. */
  goMissing: string | null
}

/** Output of a program: when each operation ran, ms since its start. */
export interface TickLog {
  readonly atMs: readonly number[]
  readonly elapsedMs: number
}

export function tickFigures(log: TickLog, rate: number): Pick<TickRun, 'achieved' | 'lateP50Ms' | 'lateP99Ms'> {
  const everyMs = 1000 / rate
  const late = log.atMs.map((at, index) => Math.abs(at - (index + 1) * everyMs)).sort((a, b) => a - b)
  const at = (share: number): number | null => late[Math.max(0, Math.ceil(share * late.length) - 1)] ?? null
  const due = Math.max(1, Math.floor(log.elapsedMs / everyMs))
  return { achieved: (rate * log.atMs.length) / due, lateP50Ms: at(0.5), lateP99Ms: at(0.99) }
}
