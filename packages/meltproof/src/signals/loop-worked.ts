import { performance } from 'node:perf_hooks'

/**
 * How long this thread's loop has not waited for events, ms, the time others took of the core included; 1 us to read.
 */
export function loopWorkedMs(): number {
  return performance.eventLoopUtilization().active
}

/** CPU this thread has used, ms; of the process where Node can not tell (before 23.9). About 1 us to read. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}
