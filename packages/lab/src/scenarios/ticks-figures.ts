/** What a run of operations at even intervals was worth. Pure. */

export interface TickRun {
  readonly arm: string
  /** `free`, `pinned` or `pinned, busy core`. */
  readonly condition: string
  /** Operations a second asked for. */
  readonly rate: number
  readonly achieved: number
  /** How far operations were from where they were due, ms, counted from the first. */
  readonly lateP50Ms: number
  readonly lateP99Ms: number
}

/** What a program printed: when each operation ran, ms since its start. */
export interface TickLog {
  readonly atMs: readonly number[]
  readonly elapsedMs: number
}

export function tickFigures(log: TickLog, rate: number): Pick<TickRun, 'achieved' | 'lateP50Ms' | 'lateP99Ms'> {
  const everyMs = 1000 / rate
  const late = log.atMs.map((at, index) => Math.abs(at - (index + 1) * everyMs)).sort((a, b) => a - b)
  const at = (share: number): number => late[Math.max(0, Math.ceil(share * late.length) - 1)] ?? Number.NaN
  // Chance decides whether the operation that is due at the very end still counts; at one a second it is half of two.
  const spanMs = Math.max(log.atMs.at(-1) ?? 0, log.elapsedMs - everyMs, Number.MIN_VALUE)
  return { achieved: (log.atMs.length * 1000) / spanMs, lateP50Ms: at(0.5), lateP99Ms: at(0.99) }
}
