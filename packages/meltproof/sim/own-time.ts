/**
 * The time that a request takes on an otherwise idle service, and when its answer is late. A request that takes longer
 * than the SLO by itself is late when other requests delay it by another SLO. With an SLO of 1 s, a request that takes
 * 5 s by itself is late after 6 s.
 */
import type { Step } from './workload.ts'

/** Sums the times known at the start. A hold time that depends on when its connection is acquired is added later. */
export function ownTimeOf(steps: readonly Step[], coldness: number): number {
  let ms = 0
  for (const step of steps) {
    if (typeof step === 'string') continue
    if ('cpu' in step) ms += step.cpu * coldness
    else if ('timer' in step) ms += step.timer
    else if ('wait' in step) ms += step.wait
    else if ('upload' in step) ms += step.upload
    else if ('stream' in step) ms += step.stream
    else if ('pool' in step && typeof step.pool === 'number') ms += step.pool
  }
  return ms
}

/** How long after the arrival of its request an answer is still on time. */
export const inItsTimeMs = (ownMs: number, sloMs: number): number => (ownMs > sloMs ? ownMs + sloMs : sloMs)
