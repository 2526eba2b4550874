/**
 * The event loop's figures, named as in OpenTelemetry's `nodejs.eventloop.*` conventions. The heartbeat of
 * signals/loop-stalls.ts measures the delays. Node's own monitor would wake the process another hundred times a second,
 * and its delays include its own period.
 */
import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { now } from '../clock.ts'
import { watchDelays } from '../signals/loop-stalls.ts'
import { RecentDelays } from './recent-delays.ts'

/** Assumes that work becomes due at this interval, ms. Work due during a stall waits for the rest of it. */
const DUE_EVERY_MS = 10
/** Maximum number of delays for one stall; longer stalls get a coarser interval. */
const MOST_DUE = 1000
/** Interval of snapshots, ms. Utilization covers the time since the oldest of the last LOOKS: about a minute. */
const LOOK_EVERY_MS = 10_000
const LOOKS = 6

export class EventLoop {
  readonly delays: RecentDelays = new RecentDelays()
  readonly close: () => void
  readonly #looks: EventLoopUtilization[] = [performance.eventLoopUtilization()]
  #lookedAtMs = now()

  /** @param onDelay receives all delays: `times` pieces of due work waited for `delayMs` */
  constructor(onDelay: (delayMs: number, times: number) => void = () => undefined) {
    this.close = watchDelays((periodMs, lateMs) => {
      const nowMs = now()
      waitsOf(periodMs, lateMs, (delayMs, times) => {
        this.delays.add(nowMs, delayMs, times)
        onDelay(delayMs, times)
      })
      if (nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return
      this.#lookedAtMs = nowMs
      if (this.#looks.push(performance.eventLoopUtilization()) > LOOKS) this.#looks.shift()
    })
  }

  /** Busy share of the loop in the last minute: 0 (idle) to 1 (never idle). */
  utilization(): number {
    return performance.eventLoopUtilization(performance.eventLoopUtilization(), this.#looks[0]!).utilization
  }

  /** Active and idle seconds since the start of the process. */
  time(): { readonly active: number; readonly idle: number } {
    const { active, idle } = performance.eventLoopUtilization()
    return { active: active / 1000, idle: idle / 1000 }
  }
}

/** The delays that a late heartbeat shows: it was due `periodMs` after the last one, and was `lateMs` late. */
export function waitsOf(periodMs: number, lateMs: number, tell: (delayMs: number, times: number) => void): void {
  const punctual = Math.round(periodMs / DUE_EVERY_MS) - 1
  if (punctual > 0) tell(0, punctual)
  const times = Math.max(1, Math.ceil(lateMs / DUE_EVERY_MS / MOST_DUE))
  for (let delayMs = lateMs; delayMs > 0 || delayMs === lateMs; delayMs -= DUE_EVERY_MS * times) tell(delayMs, times)
}
