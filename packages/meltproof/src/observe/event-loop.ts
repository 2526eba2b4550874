/**
 * The event loop's figures, by the names of OpenTelemetry's `nodejs.eventloop.*` conventions. How late it is comes from
 * the beats of the stall ledger: Node's own monitor would wake the process a hundred times a second beside them, and
 * reports waits that include its own period.
 */
import { createHistogram, type EventLoopUtilization, performance } from 'node:perf_hooks'
import { watchDelays } from '../signals/loop-stalls.ts'

/** By how much the loop was late, seconds. */
export type LoopDelay = Readonly<Record<'min' | 'max' | 'mean' | 'stddev' | 'p50' | 'p90' | 'p99', number>>

const NS = 1e9
/** A histogram of Node takes whole numbers from this. */
const LEAST_NS = 1
/** A beat counts once for each of these since the last one, so that percentiles are of time, however often it beats. */
const SLOT_MS = 10

export class EventLoop {
  readonly #histogram = createHistogram()
  #delay: LoopDelay | undefined
  #before: EventLoopUtilization = performance.eventLoopUtilization()
  readonly close: () => void = watchDelays((periodMs, lateMs) => {
    for (let slots = Math.round(periodMs / SLOT_MS); slots > 1; slots--) this.#histogram.record(LEAST_NS)
    this.#histogram.record(Math.max(LEAST_NS, Math.round(lateMs * 1e6)))
  })

  /** Since the last call that found something new; undefined before there is anything. */
  delay(): LoopDelay | undefined {
    const seen = this.#histogram
    if (seen.count === 0) return this.#delay
    this.#delay = {
      min: seen.min / NS,
      max: seen.max / NS,
      mean: seen.mean / NS,
      stddev: seen.stddev / NS,
      p50: seen.percentile(50) / NS,
      p90: seen.percentile(90) / NS,
      p99: seen.percentile(99) / NS,
    }
    seen.reset()
    return this.#delay
  }

  /** 0 (idle) to 1 (never idle), since the last call. */
  utilization(): number {
    const current = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(current, this.#before)
    this.#before = current
    return utilization
  }

  /** Seconds since the start of the process. */
  time(): { readonly active: number; readonly idle: number } {
    const { active, idle } = performance.eventLoopUtilization()
    return { active: active / 1000, idle: idle / 1000 }
  }
}
