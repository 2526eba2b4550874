/** Which turn of the event loop this is. */
import { performance } from 'node:perf_hooks'

const timing = performance.nodeTiming as unknown as { readonly uvMetricsInfo?: { readonly loopCount: number } }

/**
 * A number that changes with every turn of the loop (libuv's own count, Node >= 22.8; 0.1 us to read). NaN where Node
 * does not tell, which is unlike any other, itself included.
 */
export function loopTurn(): number {
  return timing.uvMetricsInfo?.loopCount ?? Number.NaN
}
