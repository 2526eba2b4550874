/**
 * A certificate, without any heartbeat, of whether the event loop was late: libuv counts the events that were ready
 * already when it began to look for some. Inside a callback the count does not hold the events of the current look
 * yet; one `setImmediate` later it does. If it has grown in between, what called back lay waiting.
 *
 * The certificate is of the look, not of the one event: another event of the same look sets it off too (about 3 % of
 * the time, bench/timing.ts).
 */
import { performance } from 'node:perf_hooks'

export type Certified = (lay: boolean) => void

let waiting: Certified[] = []
let before = 0

/** Calls back, in this turn's check phase, with whether the event that is being handled lay waiting. */
export function certify(done: Certified): void {
  if (waiting.push(done) > 1) return
  before = performance.nodeTiming.uvMetricsInfo.eventsWaiting
  setImmediate(settle)
}

function settle(): void {
  const asked = waiting
  waiting = []
  const lay = performance.nodeTiming.uvMetricsInfo.eventsWaiting > before
  for (const done of asked) done(lay)
}
