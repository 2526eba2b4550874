/**
 * Carries one request at a time: an HTTP/1.1 connection, or a stream of HTTP/2. Turns network events into calls on its
 * owner, none after `onGone` or `onFailed`. Knows no schedule, pool or counter.
 */
import type { JourneyRun } from './arrival-source.ts'
import type { OutgoingRequest } from './outgoing-request.ts'
import type { FailureCode } from './plan.ts'
import type { Peer } from './target.ts'

export interface ConnectionOwner {
  /** Bytes, or the end of the stream, arrived. Calls that result from them follow. */
  onBytes(count: number): void
  /** The connection is open. A request given to it before that has just been written. */
  onConnected(connection: Connection): void
  /** The request is sent at the end of this turn of the loop, not at once. */
  onQueued(connection: Connection): void
  /** The request was answered. The connection is idle if `reusable`; otherwise it closes by itself. */
  onAnswer(connection: Connection, status: number, reusable: boolean): void
  /** The connection failed, and its request too if it was `busy`. */
  onFailed(connection: Connection, code: FailureCode, reason: string): void
  /** The connection closed without a request on it. */
  onGone(connection: Connection): void
}

type State = 'connecting' | 'open' | 'closing' | 'gone'

export abstract class Connection {
  state: State = 'connecting'
  /** True while it has a request that waits for the connection, or for its answer. */
  busy = false
  /** When its request was due and when it was sent, ms from the start; set by the owner. */
  due = 0
  sentAt = 0
  /** When node:http2 queued the request: later than `sentAt` if the connection was not open yet. */
  queuedAt = 0
  /** The maximum part of its latency that the generator had caused when it was sent, ms. */
  ownMs = 0
  /** `since`: when it began to connect, or to close. `usableUntil`: the end of its use. Set by the owner. */
  since = 0
  usableUntil: number = Number.POSITIVE_INFINITY
  /** Number, target, body length and journey of its request; set by the owner. */
  number = -1
  target = 0
  bodySent = 0
  run: JourneyRun | undefined

  readonly peer: Peer
  protected readonly owner: ConnectionOwner
  abstract readonly bodyBytes: number
  /** How long the server keeps it when idle, as its last answer said; Infinity if it said nothing. */
  abstract readonly keptMs: number

  constructor(owner: ConnectionOwner, peer: Peer) {
    this.owner = owner
    this.peer = peer
  }

  /** Adds a request; it is sent now, or as soon as the connection is open. */
  abstract send(request: OutgoingRequest): void

  /** Closes it at once, without a call to the owner. */
  abstract destroy(): void

  /** Closes it while it has no request. */
  protected leave(): void {
    if (this.state === 'gone') return
    this.destroy()
    this.owner.onGone(this)
  }

  protected fail(code: FailureCode, reason: string): void {
    const { busy } = this
    this.destroy()
    this.busy = busy
    this.owner.onFailed(this, code, reason)
  }
}

export interface Dialer {
  /** True if another connection is possible; the pool has its own limit. */
  readonly hasRoom: boolean
  connect(): Connection
  /** Closes what remains when all connections are gone. */
  destroy(): void
}
