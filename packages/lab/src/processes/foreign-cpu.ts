/** CPU time that other processes used on the cores of an experiment: busy time minus that of the lab. Linux only. */
import { performance } from 'node:perf_hooks'
import { busyMsOf, type CoreTimes, readCores } from './core-times.ts'
import { every } from './every.ts'
import { type ProcessRow, usedMs } from './proc-stat.ts'
import { processTree } from './process-tree.ts'

/** Unit: cores. */
export interface Foreign {
  readonly mean: number
  /** The highest value over one interval. */
  readonly worst: number
}

interface Reading {
  readonly atMs: number
  readonly busyMs: number
  readonly ownMs: number
}

/** Maximum that other processes may use of an experiment's cores on average, in cores. */
export const MAX_FOREIGN_CORES = 0.1

/** Much longer than a clock tick of /proc (10 ms), so that a reading is accurate. */
const intervalMs = 2000

/**
 * Watches `cores` and the process tree below this process. A core that is added to `cores` counts from the reading before.
 * Undefined if nothing could be read, or before 0.5 s.
 */
export function watchForeign(cores: Iterable<number>): {
  soFar(): Foreign | undefined
  stop(): Promise<Foreign | undefined>
} {
  const readings: Reading[] = []
  let before: readonly ProcessRow[] = []
  let coresBefore: CoreTimes | undefined
  let busyMs = 0
  let lostMs = 0
  const take = async (): Promise<void> => {
    const all = await readCores()
    if (all === undefined) return
    const own = await processTree(process.pid)
    lostMs += lostBetween(before, own)
    before = own
    busyMs += busyMsOf(coresBefore ?? all, all, cores)
    coresBefore = all
    const ownMs = lostMs + own.reduce((sum, row) => sum + usedMs(row), 0)
    readings.push({ atMs: performance.now(), busyMs, ownMs })
  }
  const readingOn = every(intervalMs, take)
  return {
    soFar: () => foreignOf(readings),
    async stop() {
      await readingOn.stop()
      await take()
      return foreignOf(readings)
    },
  }
}

/**
 * CPU time, ms, of processes that ended between two readings of the tree and for which no process of the tree waited,
 * because their parent ended too. Otherwise it is in the `reapedMs` of an ancestor. Pure.
 */
export function lostBetween(before: readonly ProcessRow[], after: readonly ProcessRow[]): number {
  const living = new Map(after.map(row => [row.pid, row]))
  let lostMs = 0
  for (const row of before) {
    const now = living.get(row.pid)
    lostMs += now === undefined ? usedMs(row) : (row.reapedMs ?? 0) - (now.reapedMs ?? 0)
  }
  return Math.max(0, lostMs)
}

/** An interval that is too short, such as the last, counts only for the mean. Pure. */
export function foreignOf(readings: readonly Reading[]): Foreign | undefined {
  const first = readings[0]
  const last = readings.at(-1)
  if (first === undefined || last === undefined || last.atMs - first.atMs < intervalMs / 4) return undefined
  const share = (from: Reading, to: Reading): number =>
    Math.max(0, (to.busyMs - from.busyMs - (to.ownMs - from.ownMs)) / (to.atMs - from.atMs))
  const mean = share(first, last)
  let worst = mean
  for (const [at, to] of readings.slice(1).entries()) {
    const from = readings[at]!
    if (to.atMs - from.atMs >= intervalMs / 2) worst = Math.max(worst, share(from, to))
  }
  return { mean, worst }
}
