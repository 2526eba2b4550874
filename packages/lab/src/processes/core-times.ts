/** Measures how busy each core of this machine was, with all processes. Linux only; undefined elsewhere. */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseCores } from './proc-stat.ts'

export type CoreTimes = ReturnType<typeof parseCores>

export const readCores = (): Promise<CoreTimes | undefined> =>
  readFile('/proc/stat', 'utf8').then(parseCores, () => undefined)

/** Busy time of these cores between two readings, ms. */
export const busyMsOf = (before: CoreTimes, after: CoreTimes, cores: Iterable<number>): number =>
  [...cores].reduce((sum, core) => sum + (after[core]?.busyMs ?? 0) - (before[core]?.busyMs ?? 0), 0)

/** Share (0..1) of the time between two readings in which a core was busy. */
export function busyShare(before: CoreTimes, after: CoreTimes, core: number): number {
  const busy = busyMsOf(before, after, [core])
  const idle = (after[core]?.idleMs ?? 0) - (before[core]?.idleMs ?? 0)
  return busy + idle <= 0 ? 0 : busy / (busy + idle)
}

/** Busy share of every core during the next `ms`. */
export async function busyNow(ms: number, signal: AbortSignal): Promise<number[] | undefined> {
  const before = await readCores()
  if (before === undefined) return undefined
  await sleep(ms, undefined, { signal })
  const after = await readCores()
  return after && before.map((_, core) => busyShare(before, after, core))
}
