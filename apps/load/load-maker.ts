/** Load on the most expensive route of an app, over its protocol. */

/** Outcomes of the requests of one run. Every request that was sent is either answered or failed. */
export interface Load {
  readonly scheduled: number
  readonly unsent: number
  /** Answered with success within a second of their scheduled time. */
  readonly good: number
  /** The rate of good answers per second. The first second of a cold process does not count. */
  readonly goodput: number
  /** Answered with overload: 503, or UNAVAILABLE and RESOURCE_EXHAUSTED. */
  readonly shed: number
  /** Answered with other unsuccessful statuses. */
  readonly other: Readonly<Record<string, number>>
  /** Without a complete answer, by reason. */
  readonly failed: Readonly<Record<string, number>>
  readonly okP50Ms: number | null
  readonly okP99Ms: number | null
  /** Why the figures are doubtful. */
  readonly doubts: readonly string[]
}

/** The maximum rate of a warm app. */
export interface Capacity {
  /** Requests per second that are answered in time. */
  readonly rate: number
  /** Clients that reach this rate, each of which sends its next request after its answer. */
  readonly users: number
}

export interface LoadMaker {
  capacity(): Promise<Capacity>
  /** The rate at which this number of users is answered in time, counted like {@link Load.goodput}. */
  busy(users: number, durationMs: number): Promise<number>
  /** Offers `rate` requests per second, independent of the answers. */
  offer(rate: number, durationMs: number, spacing?: 'even' | 'poisson'): Promise<Load>
}
