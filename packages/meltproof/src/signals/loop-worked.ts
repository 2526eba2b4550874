/** How long the event loop has worked. */
import { performance } from 'node:perf_hooks'

/** Milliseconds in which this thread's loop did not wait for events, ever; 1 us to read. What others took of the core counts. */
export function loopWorkedMs(): number {
  return performance.eventLoopUtilization().active
}

/** CPU this thread has used, ms; of the process where Node can not tell (before 23.9). About 1 us to read. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}
