/**
 * Where one call is and when its next limit falls due: connect, then first byte, then the body. Pure: it is told the
 * time in *fair* milliseconds since the call began: those in which our own event loop could turn.
 *
 * Nothing is armed here. Whoever holds it keeps one timer for `nextMs` and asks again when that fires, so a chunk of
 * a body costs two assignments.
 */
import { type CallLimits, RATE_WINDOW_MS } from './limits.ts'

/** Which limit passed. */
export type CallPhase = 'connect' | 'first-byte' | 'idle' | 'drip' | 'total'

/** What the holder can see of the call when a limit falls due. */
export interface CallProgress {
  /** We asked the peer to wait, so its silence is our doing. */
  readonly paused: boolean
  /** The request is not sent completely, and it is our caller who has not given us more of it. */
  readonly awaitingCaller: boolean
  /** Bytes of the request the connection has taken so far; a change is progress. */
  readonly sentBytes: number
}

/** Either the limit that passed, or when to ask again. */
export type CallVerdict =
  | { readonly expired: CallPhase; readonly limitMs: number }
  | { readonly expired: undefined; readonly nextMs: number }

type Stage = 'connect' | 'head' | 'body'

export class CallPhases {
  readonly #limits: CallLimits
  #stage: Stage = 'connect'
  #eventStream = false
  /** The whole request is on its way. */
  #sent = false
  /** Last sign of life within the stage; fair ms since the call began, as all times here. */
  #lastMs = 0
  #sentBytes = 0
  #bytes = 0
  #windowStartMs = 0
  #windowBytes = 0
  #pausedInWindow = false
  #pausedSinceByte = false

  constructor(limits: CallLimits) {
    this.#limits = limits
  }

  /** Bytes of the body that came. */
  get bytesSeen(): number {
    return this.#bytes
  }

  /** How far it came, in words for an error. */
  get stage(): Stage {
    return this.#stage
  }

  /** A connection is ours and the request goes out. */
  connected(nowMs: number): void {
    if (this.#stage !== 'connect') return
    this.#stage = 'head'
    this.#lastMs = nowMs
  }

  /** The last of the request went out: from here it is the peer's turn. */
  sent(nowMs: number): void {
    if (this.#stage !== 'head') return
    this.#sent = true
    this.#lastMs = nowMs
  }

  /** The head of the response is here. */
  head(nowMs: number, eventStream: boolean): void {
    this.#stage = 'body'
    this.#eventStream = eventStream
    this.#lastMs = nowMs
    this.#windowStartMs = nowMs
  }

  /** A chunk of the body is here. */
  chunk(nowMs: number, bytes: number): void {
    this.#bytes += bytes
    this.#windowBytes += bytes
    this.#lastMs = nowMs
    this.#pausedSinceByte = false
  }

  /** We asked the peer to wait. */
  paused(): void {
    this.#pausedSinceByte = true
    this.#pausedInWindow = true
  }

  /** The earliest time a limit can fall due. */
  nextMs(): number {
    const limits = this.#limits
    let next = this.#unlimited() ? Number.POSITIVE_INFINITY : bound(limits.totalMs)
    if (this.#stage === 'connect') next = Math.min(next, bound(limits.connectMs))
    else if (this.#stage === 'head') next = Math.min(next, this.#lastMs + bound(limits.firstByteMs))
    else {
      next = Math.min(next, this.#lastMs + this.#idleMs())
      if (!this.#eventStream && limits.minBytesPerSecond !== false) {
        next = Math.min(next, this.#windowStartMs + RATE_WINDOW_MS)
      }
    }
    return next
  }

  /** Asked when `nextMs` has come: has a limit passed, or has there been progress meanwhile? */
  check(nowMs: number, progress: CallProgress): CallVerdict {
    const limits = this.#limits
    if (!this.#unlimited() && nowMs >= bound(limits.totalMs)) {
      return { expired: 'total', limitMs: bound(limits.totalMs) }
    }
    if (this.#stage === 'connect') {
      if (nowMs >= bound(limits.connectMs)) {
        return { expired: 'connect', limitMs: bound(limits.connectMs) }
      }
    } else if (this.#stage === 'head') {
      if (nowMs - this.#lastMs >= bound(limits.firstByteMs)) {
        const { awaitingCaller, sentBytes } = progress
        if (this.#sent || (!awaitingCaller && sentBytes === this.#sentBytes)) {
          return { expired: 'first-byte', limitMs: bound(limits.firstByteMs) }
        }
        // It is known only now that the request got on, so the peer gets a whole limit from here.
        this.#sentBytes = sentBytes
        this.#lastMs = nowMs
      }
    } else {
      const expired = this.#checkBody(nowMs, progress.paused)
      if (expired !== undefined) return expired
    }
    return { expired: undefined, nextMs: this.nextMs() }
  }

  #checkBody(nowMs: number, paused: boolean): CallVerdict | undefined {
    if (paused) this.paused()
    const idleMs = this.#idleMs()
    if (nowMs - this.#lastMs >= idleMs) {
      if (!this.#pausedSinceByte) return { expired: 'idle', limitMs: idleMs }
      // When reading went on is unknown: the peer gets a whole window from here.
      this.#lastMs = nowMs
      this.#pausedSinceByte = paused
    }
    const { minBytesPerSecond } = this.#limits
    if (this.#eventStream || minBytesPerSecond === false) return undefined
    const windowMs = nowMs - this.#windowStartMs
    if (windowMs < RATE_WINDOW_MS) return undefined
    if (!this.#pausedInWindow && this.#windowBytes < (minBytesPerSecond * windowMs) / 1000) {
      return { expired: 'drip', limitMs: RATE_WINDOW_MS }
    }
    this.#windowStartMs = nowMs
    this.#windowBytes = 0
    this.#pausedInWindow = paused
    return undefined
  }

  #idleMs(): number {
    return bound(this.#eventStream ? this.#limits.eventStreamIdleMs : this.#limits.idleMs)
  }

  /** An event stream that has begun ends when its peer or its reader wants it to. */
  #unlimited(): boolean {
    return this.#eventStream && this.#stage === 'body'
  }
}

function bound(limit: number | false): number {
  return limit === false ? Number.POSITIVE_INFINITY : limit
}
