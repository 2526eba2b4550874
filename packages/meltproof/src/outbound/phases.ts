/**
 * The phase of one call, and the limit that is due next. Pure: the owner runs the timer, until `nextMs`.
 *
 * A limit is extended only by those stalls of this process's event loop that can have delayed the call. Until the
 * request is sent, and while a body arrives, each step waits for this process, so every stall counts. In between only
 * the peer works. If the small stalls of a busy loop counted there too, a limit of 3 s would become 3.7 s at 90 %
 * utilisation (`meltlab run timeouts`).
 */
import { type CallLimits, RATE_WINDOW_MS } from './limits.ts'

type Stage = 'connect' | 'first-byte' | 'idle'

export type CallPhase = Stage | 'drip' | 'total'

export interface CallProgress {
  /** The call waits for a free connection in its client's pool. */
  readonly queued: boolean
  /** This side does not read now, so the silence of the peer means nothing. */
  readonly paused: boolean
  /** The caller has not provided the whole request yet. */
  readonly awaitingCaller: boolean
  /** Bytes of the request that the connection has accepted; a change is progress. */
  readonly sentBytes: number
}

export type StalledBetween = (fromMs: number, toMs: number) => number

export type PhaseCheck =
  | { readonly expired: CallPhase; readonly limitMs: number }
  | { readonly expired: undefined; readonly inMs: number }

export class CallPhases {
  readonly #limits: CallLimits
  #stage: Stage = 'connect'
  #stream = false
  /** When the request was sent, and the earliest time at which the head of its answer may have arrived. */
  #sentMs = Number.POSITIVE_INFINITY
  #headMs = Number.POSITIVE_INFINITY
  readonly #startMs: number
  #lastMs: number
  #sentBytes = 0
  bytesSeen = 0
  #windowStartMs = 0
  #windowBytes = 0
  #pausedInWindow = false
  #pausedSinceByte = false

  constructor(limits: CallLimits, startMs: number) {
    this.#limits = limits
    this.#startMs = startMs
    this.#lastMs = startMs
  }

  /** A connection is being opened. Restarts the limit, because until now the call may have waited for a free one. */
  connecting(nowMs: number): void {
    if (this.#stage === 'connect') this.#lastMs = nowMs
  }

  connected(nowMs: number): void {
    if (this.#stage !== 'connect') return
    this.#stage = 'first-byte'
    this.#lastMs = nowMs
  }

  /** The whole request was sent: from here on the call waits for the peer. */
  sent(nowMs: number): void {
    if (this.#stage !== 'first-byte') return
    this.#sentMs = nowMs
    this.#lastMs = nowMs
  }

  /** The head of the answer was read; it may have been in the socket since `sinceMs`. */
  head(nowMs: number, stream: boolean, sinceMs: number = nowMs): void {
    this.#stage = 'idle'
    this.#sentMs = Math.min(this.#sentMs, nowMs)
    this.#headMs = Math.max(sinceMs, this.#sentMs)
    this.#stream = stream
    this.#lastMs = nowMs
    this.#windowStartMs = nowMs
  }

  chunk(nowMs: number, bytes: number): void {
    this.bytesSeen += bytes
    this.#windowBytes += bytes
    this.#lastMs = nowMs
    this.#pausedSinceByte = false
  }

  paused(): void {
    this.#pausedSinceByte = true
    this.#pausedInWindow = true
  }

  nextMs(): number {
    const rateMs = this.#rated() ? this.#windowStartMs + RATE_WINDOW_MS : Number.POSITIVE_INFINITY
    return Math.min(this.#startMs + this.#totalMs(), this.#lastMs + this.#stageMs(), rateMs)
  }

  /** Called at `nextMs`: returns the limit that was exceeded, or after how many milliseconds to check again. */
  check(nowMs: number, stalled: StalledBetween, progress: CallProgress): PhaseCheck {
    let inMs = Number.POSITIVE_INFINITY
    const passed = (sinceMs: number, limitMs: number): boolean => {
      const leftMs = limitMs - this.#fairMs(sinceMs, nowMs, stalled)
      if (leftMs <= 0) return true
      inMs = Math.min(inMs, leftMs)
      return false
    }
    const totalMs = this.#totalMs()
    if (passed(this.#startMs, totalMs)) return { expired: 'total', limitMs: totalMs }
    const stageMs = this.#stageMs()
    if (this.#stage === 'idle' && progress.paused) this.paused()
    if (passed(this.#lastMs, stageMs)) {
      if (!this.#isProgressing(progress)) return { expired: this.#stage, limitMs: stageMs }
      // It is unknown when the progress happened, so a full limit starts here.
      this.#lastMs = nowMs
      passed(nowMs, stageMs)
    }
    if (this.#rated() && passed(this.#windowStartMs, RATE_WINDOW_MS)) {
      const fairMs = this.#fairMs(this.#windowStartMs, nowMs, stalled)
      const due = (orNever(this.#limits.minBytesPerSecond) * fairMs) / 1000
      if (!this.#pausedInWindow && this.#windowBytes < due) return { expired: 'drip', limitMs: RATE_WINDOW_MS }
      this.#windowStartMs = nowMs
      this.#windowBytes = 0
      this.#pausedInWindow = progress.paused
      passed(nowMs, RATE_WINDOW_MS)
    }
    return { expired: undefined, inMs }
  }

  /** True if the peer is not to blame: the call waits for a connection, the request progresses, or this side pauses. */
  #isProgressing({ queued, paused, awaitingCaller, sentBytes }: CallProgress): boolean {
    if (this.#stage === 'connect') return queued
    if (this.#stage === 'first-byte') {
      const more = awaitingCaller || sentBytes !== this.#sentBytes
      this.#sentBytes = sentBytes
      return more && this.#sentMs === Number.POSITIVE_INFINITY
    }
    const waited = this.#pausedSinceByte
    this.#pausedSinceByte = paused
    return waited
  }

  /**
   * The length of an interval less the stalls that can have delayed the call, but at least half: stalls at most double
   * a limit.
   */
  #fairMs(fromMs: number, toMs: number, stalled: StalledBetween): number {
    const elapsedMs = toMs - fromMs
    return elapsedMs - Math.min(this.heldUpMs(toMs, stalled, fromMs), elapsedMs / 2)
  }

  /** How much of an interval was stalled, counting only those stalls that can have delayed the call. */
  heldUpMs(toMs: number, stalled: StalledBetween, fromMs: number = this.#startMs): number {
    const sentMs = Math.min(this.#sentMs, toMs)
    const headMs = Math.max(this.#headMs, fromMs)
    return (fromMs < sentMs ? stalled(fromMs, sentMs) : 0) + (headMs < toMs ? stalled(headMs, toMs) : 0)
  }

  /** The limit of the whole call. A stream that has begun has none: the peer or the reader ends it. */
  #totalMs(): number {
    return this.#stream ? Number.POSITIVE_INFINITY : orNever(this.#limits.totalMs)
  }

  #stageMs(): number {
    const { connectMs, firstByteMs, idleMs, streamIdleMs } = this.#limits
    if (this.#stage === 'connect') return orNever(connectMs)
    if (this.#stage === 'first-byte') return orNever(firstByteMs)
    return orNever(this.#stream ? streamIdleMs : idleMs)
  }

  #rated(): boolean {
    return this.#stage === 'idle' && !this.#stream && this.#limits.minBytesPerSecond !== false
  }
}

function orNever(limit: number | false): number {
  return limit === false ? Number.POSITIVE_INFINITY : limit
}
