/**
 * What a request goes out on, one at a time: a connection of HTTP/1.1 (http1-connection.ts), or one of the streams that an
 * HTTP/2 connection carries at once (http2-stream.ts). Turns what the network does into calls on its owner; knows nothing
 * of schedules, pools or counts. After `onGone` or `onFailed` nothing more comes from it.
 */
import type { JourneyRun } from './journey-run.ts'
import type { OutgoingRequest } from './outgoing-request.ts'
import type { FailureCode } from './plan.ts'

export interface ConnectionOwner {
  /** Bytes came in, of whatever kind, or their end: what follows from them is told next. */
  onBytes(count: number): void
  /** The connection stands. A request given to it meanwhile has just been written. */
  onConnected(connection: Connection): void
  /** The request leaves when this turn of the loop is over, not at once. */
  onQueued(connection: Connection): void
  /** The request is answered; the connection is idle when `reusable`, else it closes by itself. */
  onAnswer(connection: Connection, status: number, reusable: boolean): void
  /** The connection failed. When it was `busy` its request failed with it. */
  onFailed(connection: Connection, code: FailureCode, reason: string): void
  /** The connection closed with no request on it. */
  onGone(connection: Connection): void
}

export interface Peer {
  /** Its place among the servers of the run. */
  readonly index: number
  readonly address: string
  readonly port: number
  /** Name for TLS to verify; undefined for plain HTTP. */
  readonly tlsName: string | undefined
}

type State = 'connecting' | 'open' | 'closing' | 'gone'

export abstract class Connection {
  state: State = 'connecting'
  /** A request is on it: waiting for the connection, or for its answer. */
  busy = false
  /** Of the request on it, set by the owner: when it was due and when it was sent, milliseconds from the start. */
  due = 0
  sentAt = 0
  /** When it was queued to leave: later where it had to wait for its connection. */
  queuedAt = 0
  /** How much of its latency the generator caused by the time it was sent, milliseconds, at most. */
  ownMs = 0
  /** When connecting, then closing, began, and until when it may get another request: set by the owner. */
  since = 0
  usableUntil: number = Number.POSITIVE_INFINITY
  /** Its number, its target, the bytes of its body, and the journey it belongs to: set by the owner. */
  number = -1
  target = 0
  bodySent = 0
  run: JourneyRun | undefined

  readonly peer: Peer
  protected readonly owner: ConnectionOwner
  /** Bytes of the body of its last answer. */
  abstract readonly bodyBytes: number
  /** How long the server keeps it when idle, as its last answer said; Infinity when it said nothing. */
  abstract readonly keptMs: number

  constructor(owner: ConnectionOwner, peer: Peer) {
    this.owner = owner
    this.peer = peer
  }

  /** Puts a request on it; sent now, or as soon as the connection stands. */
  abstract send(request: OutgoingRequest): void

  /** Ends it at once. Says nothing to the owner, who asked for it. */
  abstract destroy(): void

  /** Ends it with no request on it. */
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

/** Makes what a pool holds. */
export interface Dialer {
  /** Whether another one can be had; the pool has a limit of its own. */
  readonly hasRoom: boolean
  connect(): Connection
  /** What is left when all that it made is gone. */
  destroy(): void
}
