/**
 * The permit of a request: where it waits, and its leave to be in service, which ends once. Only admission/ changes it.
 *
 *     none -> held -> ended
 *     none -> held -> lent -> ended    a stream waits for its client; its place counts as free
 *                   <- lent            the stream is at work again
 *
 * An exchange is its own permit, so that a request allocates one object and not two. When its client leaves and the
 * handler works on, the permit passes to an {@link Orphan}.
 */
import type { Linked } from '../../linked-list.ts'
import type { Serving } from './service-times.ts'
import type { Stream } from './streams.ts'

export class Permit<E = unknown> implements Serving, Linked<E> {
  // Set by the gate and its queues.
  arrivedAt: number
  /** It had a permit, gave it back to wait for its client, and asks for one again. */
  again = false
  left = false
  line = 0
  /** The latest start that meets its deadline; Infinity without one. */
  startBy: number = Number.POSITIVE_INFINITY
  /** Of the limiter. */
  ticket: number | undefined = undefined
  /** Neighbours among what is in service, or waits. */
  before: E | undefined
  after: E | undefined
  startedAt = 0
  // Set by service-times.ts.
  servingSince = 0
  kindNoted = 0
  answeredThen = 0
  /** No client waits for the answer any more, and the handler was not seen to end. */
  abandoned = false
  orphan: Orphan | undefined
  /** Set when a look sees that its answer has begun and goes on. */
  stream: Stream | undefined
  #state: 'none' | 'held' | 'lent' | 'ended' = 'none'

  constructor(arrivedAt = 0) {
    this.arrivedAt = arrivedAt
  }

  get holdsPermit(): boolean {
    return this.#state === 'held'
  }

  /** Its handler is at work and its end is still to be told. */
  get inService(): boolean {
    return this.#state === 'held' || this.#state === 'lent' || this.orphan?.ended === false
  }

  holdPermit(nowMs: number): void {
    this.startedAt = nowMs
    this.#state = 'held'
  }

  lendPermit(): void {
    this.#state = 'lent'
  }

  /** How the request was in service until now; undefined when its permit has ended, or never began. */
  endPermit(): 'held' | 'lent' | undefined {
    const state = this.#state
    if (state === 'none' || state === 'ended') return undefined
    this.#state = 'ended'
    return state
  }
}

/**
 * The permit of work whose result no client waits for. It refers to nothing of the request: what the handler no longer
 * reaches can be collected.
 */
export class Orphan implements Serving {
  startedAt: number
  servingSince: number
  kindNoted: number
  answeredThen: number
  ended = false
  readonly ticket: number | undefined

  constructor({ startedAt, servingSince, kindNoted, answeredThen }: Serving, ticket: number | undefined) {
    this.startedAt = startedAt
    this.servingSince = servingSince
    this.kindNoted = kindNoted
    this.answeredThen = answeredThen
    this.ticket = ticket
  }
}
