/** Load on an app's dearest route, by whatever protocol it speaks. */

/** What became of the requests of one run; what was sent is answered or failed. */
export interface Load {
  readonly scheduled: number
  readonly unsent: number
  /** Answered as asked within a second of their scheduled time. */
  readonly good: number
  /** The same, of each second, as a rate; the first second of a cold process is not counted. */
  readonly goodput: number
  /** Answered that the server is overloaded: 503, or UNAVAILABLE and RESOURCE_EXHAUSTED. */
  readonly shed: number
  /** Answered in another way that is no success. */
  readonly other: Readonly<Record<string, number>>
  /** No complete answer, by why. */
  readonly failed: Readonly<Record<string, number>>
  readonly okP50Ms: number | null
  readonly okP99Ms: number | null
  /** Why the figures are doubtful. */
  readonly doubts: readonly string[]
}

/** What an app can do at best, once it is warm. */
export interface Capacity {
  /** Requests a second answered in time. */
  readonly rate: number
  /** Clients that get them, each asking again when it has its answer. */
  readonly users: number
}

export interface LoadMaker {
  capacity(): Promise<Capacity>
  /** Requests a second that so many users get in time; counted as {@link Load.goodput}. */
  busy(users: number, durationMs: number): Promise<number>
  /** Offers `rate` requests a second, whatever the app does. */
  offer(rate: number, durationMs: number, spacing?: 'even' | 'poisson'): Promise<Load>
}
