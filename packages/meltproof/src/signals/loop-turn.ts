/** The number of the current event loop turn. */
import { performance } from 'node:perf_hooks'

const timing = performance.nodeTiming as unknown as { readonly uvMetricsInfo?: { readonly loopCount: number } }

/** Changes with every turn of the loop (libuv's count, Node >= 22.8; 0.1 us to read); NaN where Node has no count. */
export function loopTurn(): number {
  return timing.uvMetricsInfo?.loopCount ?? Number.NaN
}
