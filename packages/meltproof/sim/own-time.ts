/**
 * What a request takes on a service that has nothing else to do, and when an answer is late: when it comes later than
 * the promise because of other requests. An answer that takes 5 s by nature is late after 6 s.
 */
import type { Step } from './workload.ts'

/** Of what is known when it starts; what a connection is held for may depend on when it is had, and is added then. */
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

/** How long after its arrival an answer is still in its time. */
export const inItsTimeMs = (ownMs: number, sloMs: number): number => (ownMs > sloMs ? ownMs + sloMs : sloMs)
