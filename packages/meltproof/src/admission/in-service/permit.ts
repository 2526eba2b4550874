/**
 * The permit of a request: its place in a queue, and then its permission to be in service, which ends exactly once.
 * Only admission/ changes it.
 *
 *     none -> held -> ended
 *     none -> held -> lent -> ended    a stream waits for its client; its permit is free for others
 *                   <- lent            the stream works again
 *
 * An exchange is its own permit, so that a request allocates one object and not two. When its client leaves and the
 * handler works on, the permit passes to an {@link Orphan}.
 */
import type { Linked } from '../../linked-list.ts'
import type { Ticket } from '../limiter/cohorts.ts'
import type { Serving } from './service-times.ts'
import type { Stream } from './streams.ts'

export class Permit<E = unknown> implements Serving, Linked<E> {
  // Set by the gate and its queues.
  arrivedAt: number
  /** True if the entry had a permit, gave it back to wait for its client, and requests one again. */
  resumesUpload = false
  dequeued = false
  // Not left undefined, so that requests that wait keep the hidden class of the others.
  level = 0
  priorityClass = 0
  overtakesThen = 0
  /** Latest start that meets the deadline; Infinity without a deadline. */
  startBy: number = Number.POSITIVE_INFINITY
  /** The limiter's ticket, set when the request enters service. */
  ticket: Ticket | undefined = undefined
  startedAboveLimit = false
  /** Links of the one list that holds the entry: waiting, in service, or lent. */
  before: E | undefined
  after: E | undefined
  startedAt = 0
  // Set by service-times.ts.
  servingSince = 0
  serviceBucket = 0
  answeredThen = 0
  /** True when no client waits for the answer any more, and the end of the handler was not seen. */
  abandoned = false
  orphan: Orphan | undefined
  /** Set when a check finds that the answer has begun and continues. */
  stream: Stream | undefined
  protected state: 'none' | 'held' | 'lent' | 'ended' = 'none'

  constructor(arrivedAt = 0) {
    this.arrivedAt = arrivedAt
  }

  get holdsPermit(): boolean {
    return this.state === 'held'
  }

  /** True while the handler works, as far as is known. */
  get inService(): boolean {
    return this.state === 'held' || this.state === 'lent' || this.orphan?.ended === false
  }

  holdPermit(nowMs: number): void {
    this.startedAt = nowMs
    this.state = 'held'
  }

  lendPermit(): void {
    this.state = 'lent'
  }

  /** Ends the permit. Returns its last state; undefined when it has ended, or never began. */
  endPermit(): 'held' | 'lent' | undefined {
    const state = this.state
    if (state === 'none' || state === 'ended') return undefined
    this.state = 'ended'
    return state
  }
}

/**
 * The permit of work for whose result no client waits. It does not reference the request, so that objects which the
 * handler no longer reaches can be collected.
 */
export class Orphan implements Serving {
  startedAt: number
  servingSince: number
  serviceBucket: number
  answeredThen: number
  ended = false
  readonly ticket: Ticket | undefined

  constructor({ startedAt, servingSince, serviceBucket, answeredThen }: Serving, ticket: Ticket | undefined) {
    this.startedAt = startedAt
    this.servingSince = servingSince
    this.serviceBucket = serviceBucket
    this.answeredThen = answeredThen
    this.ticket = ticket
  }
}
