/** CPU time that other processes used on the cores of an experiment: busy time minus that of the lab. Linux only. */
import { performance } from 'node:perf_hooks'
import { readCores } from './core-times.ts'
import { every } from './every.ts'
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

/** Watches `cores` and the process tree below this process. Undefined if nothing could be read, or before 0.5 s. */
export function watchForeign(cores: readonly number[]): {
  soFar(): Foreign | undefined
  stop(): Promise<Foreign | undefined>
} {
  const readings: Reading[] = []
  const take = async (): Promise<void> => {
    const all = await readCores()
    if (all === undefined) return
    const own = await processTree(process.pid)
    const busyMs = cores.reduce((sum, core) => sum + (all[core]?.busyMs ?? 0), 0)
    // The time of ended children is included, so it never decreases.
    const ownMs = own.reduce((sum, { cpuMs, reapedMs = 0 }) => sum + cpuMs + reapedMs, 0)
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
