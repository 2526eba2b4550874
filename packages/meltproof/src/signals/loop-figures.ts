/** Node's figures of this thread: turns of its event loop, time in which the loop did not wait, CPU time. */
import { performance } from 'node:perf_hooks'

const timing = performance.nodeTiming as unknown as { readonly uvMetricsInfo?: { readonly loopCount: number } }

/** Changes with every turn of the loop (libuv's count, Node >= 22.8; 0.1 us to read); NaN where Node has no count. */
export function loopTurn(): number {
  return timing.uvMetricsInfo?.loopCount ?? Number.NaN
}

/** Time in which this thread's loop did not wait for events, ms, with or without a core. Takes 1 us to read. */
export function loopWorkedMs(): number {
  return performance.eventLoopUtilization().active
}

/** CPU time of this thread, ms; of the process in Node before 23.9. Takes about 1 us to read. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}
