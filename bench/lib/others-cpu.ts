/**
 * Measures the CPU that other processes used while something ran, on all cores. Unlike `watchForeign`, it excludes the
 * work of the kernel for our own sockets, which is charged to no process: for a proxy that is a fifth of a core.
 */
import { performance } from 'node:perf_hooks'
import { allProcesses } from '../../packages/lab/src/processes/process-tree.ts'
import { descendants } from '../../packages/lab/src/processes/proc-stat.ts'

/** The id of the process that is the parent of all kernel threads on Linux. */
const KTHREADD = 2

/** `others` is in cores of CPU. */
export async function besideOthers<T>(run: () => Promise<T>): Promise<{ readonly result: T; readonly others: number }> {
  const [before, startedMs] = [await othersCpuMs(), performance.now()]
  const result = await run()
  const tookMs = performance.now() - startedMs
  return { result, others: Math.max(0, ((await othersCpuMs()) - before) / tookMs) }
}

/** CPU of other processes since they began, ms. An ended process counts only if its parent has waited for it. */
async function othersCpuMs(): Promise<number> {
  const rows = await allProcesses()
  const ours = new Set(descendants(rows, process.pid))
  const others = rows.filter(({ pid, ppid }) => !ours.has(pid) && pid !== KTHREADD && ppid !== KTHREADD)
  return others.reduce((sum, { cpuMs, reapedMs = 0 }) => sum + cpuMs + reapedMs, 0)
}
