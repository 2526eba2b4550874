/**
 * How much CPU somebody else used on the cores of an experiment while it ran: what the cores did, less what we and all
 * that we started did. Linux only.
 */
import { performance } from 'node:perf_hooks'
import { readCores } from './core-times.ts'
import { every } from './every.ts'
import { processTree } from './process-tree.ts'

export interface Foreign {
  /** Cores' worth of CPU, on average. */
  readonly mean: number
  /** The highest reading over one interval. */
  readonly worst: number
}

export interface ForeignWatch {
  /** Undefined where nothing could be read. */
  stop(): Promise<Foreign | undefined>
}

interface Reading {
  readonly atMs: number
  readonly busyMs: number
  readonly ownMs: number
}

/** Others may use this much of an experiment's cores, on average, before its figures are no longer its own. */
export const foreignBelow = 0.1

/** Longer than a clock tick of /proc (10 ms) by enough for a reading to be worth something. */
const intervalMs = 2000

/** Watches `cores` and the process tree below this process. */
export function watchForeign(cores: readonly number[]): ForeignWatch {
  const readings: Reading[] = []
  const take = async (): Promise<void> => {
    const [busyMs, ownMs] = await Promise.all([busyOn(cores), ownCpuMs()])
    if (busyMs !== undefined && ownMs !== undefined) readings.push({ atMs: performance.now(), busyMs, ownMs })
  }
  const readingOn = every(intervalMs, take)
  return {
    async stop() {
      await readingOn.stop()
      await take()
      return foreignOf(readings)
    },
  }
}

/** Pure. A last interval that is too short to mean anything counts for the mean only. */
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

async function busyOn(cores: readonly number[]): Promise<number | undefined> {
  const all = await readCores()
  return all && cores.reduce((sum, core) => sum + (all[core]?.busyMs ?? 0), 0)
}

/** CPU of this process and all below it, with what their children used that have ended: so it never goes back. */
async function ownCpuMs(): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined
  const rows = await processTree(process.pid)
  return rows.reduce((sum, { cpuMs, reapedMs = 0 }) => sum + cpuMs + reapedMs, 0)
}
