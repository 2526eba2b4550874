/**
 * Node's own figures of its event loop, by the names of OpenTelemetry's `nodejs.eventloop.*` conventions. The delay
 * monitor is native and runs on while this is open; it does not keep the process alive.
 */
import { type EventLoopUtilization, monitorEventLoopDelay, performance } from 'node:perf_hooks'

/** Seconds. NaN while the monitor has seen nothing yet. */
export interface LoopDelay {
  readonly min: number
  readonly max: number
  readonly mean: number
  readonly stddev: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

/** How often the monitor looks, ms. What it reports includes this wait, as Node's own documentation of it says. */
const RESOLUTION_MS = 10
const NS = 1e9

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
  readonly #monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  #delay: LoopDelay = NOTHING
  #before: EventLoopUtilization = performance.eventLoopUtilization()

  constructor() {
    this.#monitor.enable()
  }

  /** Since the last time something was to be told; the same again when asked sooner than the monitor looks. */
  delay(): LoopDelay {
    const m = this.#monitor
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
    this.#monitor.disable()
  }
}
