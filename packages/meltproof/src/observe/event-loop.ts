/**
 * The event loop's figures, by the names of OpenTelemetry's `nodejs.eventloop.*` conventions. How late it is comes from
 * the beats of the stall ledger: Node's own monitor would wake the process a hundred times a second beside them, and
 * tells of waits that hold its own period.
 */
import { createHistogram, type EventLoopUtilization, performance } from 'node:perf_hooks'
import { watchDelays } from '../signals/loop-stalls.ts'

/** By how much the loop was late, seconds. NaN while nothing has been seen yet. */
export interface LoopDelay {
  readonly min: number
  readonly max: number
  readonly mean: number
  readonly stddev: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

const NS = 1e9
/** A histogram of Node takes whole numbers from this. */
const LEAST_NS = 1
/** A beat counts once for each of these since the last one, so that percentiles are of time, however often it beats. */
const SLOT_MS = 10

const NOTHING: LoopDelay = {
  min: Number.NaN,
  max: Number.NaN,
  mean: Number.NaN,
  stddev: Number.NaN,
  p50: Number.NaN,
  p90: Number.NaN,
  p99: Number.NaN,
}

export class EventLoop {
  readonly #histogram = createHistogram()
  readonly #unwatch: () => void
  #delay: LoopDelay = NOTHING
  #before: EventLoopUtilization = performance.eventLoopUtilization()

  constructor() {
    this.#unwatch = watchDelays((periodMs, lateMs) => {
      for (let slots = Math.round(periodMs / SLOT_MS); slots > 1; slots--) this.#histogram.record(LEAST_NS)
      this.#histogram.record(Math.max(LEAST_NS, Math.round(lateMs * 1e6)))
    })
  }

  /** Since the last time something was to be told; the same again when there was nothing since. */
  delay(): LoopDelay {
    const m = this.#histogram
    if (m.count === 0) return this.#delay
    this.#delay = {
      min: m.min / NS,
      max: m.max / NS,
      mean: m.mean / NS,
      stddev: m.stddev / NS,
      p50: m.percentile(50) / NS,
      p90: m.percentile(90) / NS,
      p99: m.percentile(99) / NS,
    }
    m.reset()
    return this.#delay
  }

  /** 0 (idle) to 1 (never idle), since the last time it was called. */
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

  close(): void {
    this.#unwatch()
  }
}
