/**
 * Decides which requests in service the limit counts. Under a limit, requests leave soon. A request that stays for
 * three times its expected duration waits for something else, such as a long poll, or hangs, and no longer counts. The
 * number of uncounted requests is at most the limit; it is higher only if a trial showed that they do not delay others
 * (starvation.ts). Requests admitted by failed trials stay in service, so the number in service has no fixed bound
 * while requests hang.
 *
 * Requests in service when the limit is set are distinguished by their arrival. Those that arrived since requests began
 * to wait for each other belong to the queue that must drain first. Earlier ones wait for something else. Pure.
 */
import { StartTimes } from './start-times.ts'

/** Maximum age of the queue that must drain, ms: StartTimes remembers sixteen seconds. */
const LONGEST_BACKLOG_MS = 15_000

export class CountedRequests extends StartTimes {
  /** How many of the {@link older} requests may be left uncounted. */
  allowed = 0
  readonly #openWindowMs: number
  #limitedAt = Number.NaN
  #backlogSince = 0
  #backlog = 0
  #waitedBefore = 0

  /** `openWindowMs`: without a limit, {@link recent} counts the requests that started within this time. */
  constructor(openWindowMs: number) {
    super(openWindowMs)
    this.#openWindowMs = openWindowMs
  }

  override remove(startedAt: number): void {
    super.remove(startedAt)
    if (!(startedAt <= this.#limitedAt)) return
    if (startedAt < this.#backlogSince && this.#waitedBefore > 0) this.#waitedBefore--
    else if (this.#backlog > 0) this.#backlog--
  }

  /** Called when a limit is set. `sinceMs`: when requests began to wait for each other, at least `atLeastMs` ago. */
  limited(sinceMs: number, windowMs: number, atLeastMs: number): void {
    const nowMs = this.nowMs
    this.setWindow(windowMs)
    this.#limitedAt = nowMs
    const since = Math.max(Math.min(sinceMs, nowMs - atLeastMs), nowMs - LONGEST_BACKLOG_MS)
    this.#backlogSince = this.boundary(since)
    this.#backlog = this.since(this.#backlogSince)
    this.#waitedBefore = this.inService - this.#backlog
    this.allowed = 0
  }

  /** Without a limit, {@link recent} covers the last two mean service times, and at least `openWindowMs`. */
  follow(meanMs: number): void {
    const windowMs = Math.max(this.#openWindowMs, 2 * meanMs)
    if (Math.abs(windowMs - this.windowMs) > 0.25 * this.windowMs) this.setWindow(windowMs)
  }

  unlimited(): void {
    this.setWindow(this.#openWindowMs)
    this.#limitedAt = Number.NaN
    this.#waitedBefore = 0
    this.#backlog = 0
    this.allowed = 0
  }

  /** Requests from before the limit that are still in service. */
  get before(): number {
    return this.#waitedBefore + this.#backlog
  }

  get uncounted(): number {
    return this.#waitedBefore + Math.min(this.older, this.allowed)
  }

  /** Requests in service for longer than the window, without those that waited before the limit was set. */
  get older(): number {
    if (this.nowMs < this.#limitedAt + this.windowMs) return 0
    return Math.max(0, this.inService - this.#waitedBefore - this.recent)
  }
}
