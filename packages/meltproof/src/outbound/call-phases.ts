/**
 * Where one call is and when its next limit falls due: connect, then first byte, then the body. Pure: it is told the
 * time, and when it has to judge, in how much of a stretch of it our own event loop was stalled.
 *
 * A limit is given back what a stall can have cost the call, and no more. Until the request is sent, and while a body
 * comes, each step waits for us, so every stall counts. In between the peer alone works: an answer that came during a
 * stall has been read right after it, and one that lay there when the limit passed is read in the two polls before the
 * verdict. Were each small stall of a busy loop counted there too, a limit of 3 s would be one of 3.7 s at 90 %
 * utilisation (`meltlab run timeouts`).
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

/** In how much of the time between two points our own event loop was stalled, ms. */
export type StalledBetween = (fromMs: number, toMs: number) => number

/** Either the limit that passed, or in how many fair milliseconds to ask again. */
export type CallVerdict =
  | { readonly expired: CallPhase; readonly limitMs: number }
  | { readonly expired: undefined; readonly inMs: number }

type Stage = 'connect' | 'head' | 'body'

export class CallPhases {
  readonly #limits: CallLimits
  #stage: Stage = 'connect'
  #eventStream = false
  /** When the whole request was on its way, and since when the head of its response may have been here. */
  #sentMs = Number.POSITIVE_INFINITY
  #headMs = Number.POSITIVE_INFINITY
  readonly #startMs: number
  /** Last sign of life within the stage. */
  #lastMs: number
  #sentBytes = 0
  #bytes = 0
  #windowStartMs = 0
  #windowBytes = 0
  #pausedInWindow = false
  #pausedSinceByte = false

  constructor(limits: CallLimits, startMs: number) {
    this.#limits = limits
    this.#startMs = startMs
    this.#lastMs = startMs
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
    this.#sentMs = nowMs
    this.#lastMs = nowMs
  }

  /** The head of the response is here, and may have lain unread since `sinceMs`: its body waited for us meanwhile. */
  head(nowMs: number, eventStream: boolean, sinceMs: number = nowMs): void {
    this.#stage = 'body'
    this.#sentMs = Math.min(this.#sentMs, nowMs)
    this.#headMs = Math.max(sinceMs, this.#sentMs)
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

  /** The earliest time a limit can fall due: all of it fair, and no further sign of life. */
  nextMs(): number {
    const limits = this.#limits
    let next = this.#unlimited() ? Number.POSITIVE_INFINITY : this.#startMs + orNever(limits.totalMs)
    if (this.#stage === 'connect') next = Math.min(next, this.#startMs + orNever(limits.connectMs))
    else if (this.#stage === 'head') next = Math.min(next, this.#lastMs + orNever(limits.firstByteMs))
    else {
      next = Math.min(next, this.#lastMs + this.#idleMs())
      if (this.#rated()) next = Math.min(next, this.#windowStartMs + RATE_WINDOW_MS)
    }
    return next
  }

  /** Asked when `nextMs` has come: has a limit passed, or has there been progress, or a stall of ours, meanwhile? */
  check(nowMs: number, stalled: StalledBetween, progress: CallProgress): CallVerdict {
    const { totalMs, connectMs, firstByteMs } = this.#limits
    let inMs = Number.POSITIVE_INFINITY
    /** What is left of a limit; true when nothing is. */
    const passed = (sinceMs: number, limitMs: number): boolean => {
      const leftMs = limitMs - this.#fairMs(sinceMs, nowMs, stalled)
      if (leftMs <= 0) return true
      inMs = Math.min(inMs, leftMs)
      return false
    }
    if (!this.#unlimited() && passed(this.#startMs, orNever(totalMs))) return expiry('total', totalMs)
    if (this.#stage === 'connect') {
      if (passed(this.#startMs, orNever(connectMs))) return expiry('connect', connectMs)
    } else if (this.#stage === 'head') {
      if (passed(this.#lastMs, orNever(firstByteMs))) {
        const { awaitingCaller, sentBytes } = progress
        if (this.#sentMs < Number.POSITIVE_INFINITY || (!awaitingCaller && sentBytes === this.#sentBytes))
          return expiry('first-byte', firstByteMs)
        // It is known only now that the request got on, so the peer gets a whole limit from here.
        this.#sentBytes = sentBytes
        this.#lastMs = nowMs
        passed(nowMs, orNever(firstByteMs))
      }
    } else {
      if (progress.paused) this.paused()
      const idleMs = this.#idleMs()
      if (passed(this.#lastMs, idleMs)) {
        if (!this.#pausedSinceByte) return expiry('idle', idleMs)
        // When reading went on is unknown: the peer gets a whole limit from here.
        this.#lastMs = nowMs
        this.#pausedSinceByte = progress.paused
        passed(nowMs, idleMs)
      }
      if (this.#rated() && passed(this.#windowStartMs, RATE_WINDOW_MS)) {
        const fairMs = this.#fairMs(this.#windowStartMs, nowMs, stalled)
        const due = (orNever(this.#limits.minBytesPerSecond) * fairMs) / 1000
        if (!this.#pausedInWindow && this.#windowBytes < due) return expiry('drip', RATE_WINDOW_MS)
        this.#windowStartMs = nowMs
        this.#windowBytes = 0
        this.#pausedInWindow = progress.paused
        passed(nowMs, RATE_WINDOW_MS)
      }
    }
    return { expired: undefined, inMs }
  }

  /**
   * How much of a stretch the other side had. Never less than half: a loop that stalls for ever may double a limit and
   * not lift it, the same bound a fair timer has.
   */
  #fairMs(fromMs: number, toMs: number, stalled: StalledBetween): number {
    const elapsedMs = toMs - fromMs
    return elapsedMs - Math.min(this.#heldUpMs(fromMs, toMs, stalled), elapsedMs / 2)
  }

  /** In how much of the call so far stalls of ours can have held it up. */
  heldUpMs(nowMs: number, stalled: StalledBetween): number {
    return this.#heldUpMs(this.#startMs, nowMs, stalled)
  }

  #heldUpMs(fromMs: number, toMs: number, stalled: StalledBetween): number {
    const sentMs = Math.min(this.#sentMs, toMs)
    const headMs = Math.max(this.#headMs, fromMs)
    return (fromMs < sentMs ? stalled(fromMs, sentMs) : 0) + (headMs < toMs ? stalled(headMs, toMs) : 0)
  }

  #idleMs(): number {
    return orNever(this.#eventStream ? this.#limits.eventStreamIdleMs : this.#limits.idleMs)
  }

  /** An event stream may be as slow as it likes. */
  #rated(): boolean {
    return !this.#eventStream && this.#limits.minBytesPerSecond !== false
  }

  /** An event stream that has begun ends when its peer or its reader wants it to. */
  #unlimited(): boolean {
    return this.#eventStream && this.#stage === 'body'
  }
}

function orNever(limit: number | false): number {
  return limit === false ? Number.POSITIVE_INFINITY : limit
}

function expiry(expired: CallPhase, limit: number | false): CallVerdict {
  return { expired, limitMs: orNever(limit) }
}
