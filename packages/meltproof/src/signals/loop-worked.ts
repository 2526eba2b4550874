import { performance } from 'node:perf_hooks'

/**
 * Time in which this thread's loop was not waiting for events, ms, including time without a core. Takes 1 us to read.
 */
export function loopWorkedMs(): number {
  return performance.eventLoopUtilization().active
}

/** CPU time of this thread, ms; of the process in Node before 23.9. Takes about 1 us to read. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}
