/** How long the event loop has worked. */
import { performance } from 'node:perf_hooks'

/** Milliseconds in which this thread's loop did not wait for events, ever; 1 us to read. What others took of the core counts. */
export function loopWorkedMs(): number {
  return performance.eventLoopUtilization().active
}
