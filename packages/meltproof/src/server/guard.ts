/** What protect() hands back: figures about the door, and the way to take it down. */
import type { ShedReason } from '../admission/gate.ts'

/** Figures of one protected server at this moment. */
export interface GuardStats {
  /** Requests whose handler runs and that have not begun to answer. */
  readonly inflight: number
  /** Requests waiting for a permit. */
  readonly queued: number
  /** How many may be in service at once, as learned so far. */
  readonly limit: number
  /** Requests admitted since the start. */
  readonly admitted: number
  /** Requests shed since the start, by reason. */
  readonly shed: Readonly<Record<ShedReason, number>>
  /** 0 (every recent request started at once) to 1 (every one is shed); above 0.5 requests are being shed. */
  readonly pressure: number
  /** Listening sockets that accept connections; 0 before listen(). */
  readonly lanes: number
}

export interface Guard {
  stats(): GuardStats
  /** The same number as `stats().pressure`. */
  pressure(): number
  /** Takes meltproof off the server: whoever waits is started, and the server is as it was. */
  close(): void
}
