/** The requests to a simulated service, and the clients that send them. */
import type { CriticalityAnswer } from '../src/admission/queue/criticality.ts'
import type { Core } from './core.ts'
import type { Random } from './random.ts'

/** One step of a handler. */
export type Step =
  /** CPU without yielding, ms. */
  | { readonly cpu: number }
  /** Yields with setImmediate. */
  | 'yield'
  /** Sleeps on a timer of the loop, ms. The timer fires late when the loop is busy. */
  | { readonly timer: number }
  /** Waits for something with unlimited capacity, ms. */
  | { readonly wait: number }
  /**
   * Holds a connection of a pool for this long, ms. A function is called once the connection is acquired. Without a
   * name it is the pool of `poolSize`; with one, that of `pools`: threads, a lock (a pool of one), a second database.
   */
  | { readonly pool: number | ((nowMs: number) => number | Taken); readonly of?: string }
  /** Waits for the client to send the body, ms. */
  | { readonly upload: number }
  /** Waits for the client to read an answer that has begun, ms. */
  | { readonly stream: number }
  /** Sets the status of the answer; 400 and above is not goodput. @default 200 */
  | { readonly status: number }
  /** Joins the next write of the group commit, and waits for its end. */
  | 'write'
  /** Calls another service for the request, and waits for its answer. */
  | { readonly call: (atMs: number, request: object, answered: (atMs: number, failed: boolean) => void) => void }

/** How long a call to a shared dependency took, and how long it would have taken alone, ms. */
export interface Taken {
  readonly takesMs: number
  readonly ownMs: number
}

/** Clients that start together. Each sends its next request when the one before was answered, shed or given up. */
export interface Cohort {
  readonly atMs: number
  readonly clients: number
  /** Requests that each client sends. */
  readonly requests: number
  /** Spreads the first requests evenly over this time, ms. @default 0 */
  readonly withinMs?: number
  /** Time between an answer and the next request, exponential, ms. @default 0 */
  readonly thinkMs?: number
  /** The kind of a client's n-th request, from 0. @default 0 */
  readonly kind?: (n: number) => number
}

export interface Kind {
  /** The share of all requests that have this kind. */
  readonly share: number | ((nowMs: number) => number)
  readonly steps: (random: Random, nowMs: number) => readonly Step[]
  /** The path of a request. @default a path per kind */
  readonly path?: (random: Random, nowMs: number) => string
  /** The client's number. @default all requests have the same client */
  readonly client?: (random: Random) => number
  /** The answer is 404. @default false */
  readonly notFound?: boolean
  /**
   * Admission treats kinds of one route (path and method) as one while they are in service. @default a route per kind
   */
  readonly route?: number
}

export interface Workload {
  /** Arrivals per second at a time. */
  readonly rate: (nowMs: number) => number
  /** Arrivals in order, instead of a rate. */
  readonly arrivals?: readonly { readonly atMs: number; readonly kind: number }[]
  /** The steps of one request. */
  readonly steps: (random: Random, nowMs: number) => readonly Step[]
  /** Kinds of requests, instead of `steps`. */
  readonly kinds?: readonly Kind[]
  /** Clients in addition to those of `rate`. @default none */
  readonly cohorts?: readonly Cohort[]
  /** Connections of the unnamed pool. @default 10 */
  readonly poolSize?: number
  /** Sizes of the named pools. @default none */
  readonly pools?: Readonly<Record<string, number>>
  /** The duration of a group commit's write, ms: `writeMs`, plus `eachMs` per request in it. @default 5, 0.05 */
  readonly group?: { readonly writeMs: number | ((random: Random, nowMs: number) => number); readonly eachMs: number }
  /** Clients give up after this time, ms, and the server notices. @default never */
  readonly patienceMs?: number
  /** How often a client retries after a shed, an answer of 500 and above, or giving up. @default 0 */
  readonly retries?: number
  /** Stalls of the loop, whatever runs: start and length, ms. */
  readonly stalls?: readonly (readonly [atMs: number, forMs: number])[]
  /** Garbage collection stops the loop for `pauseMs` once in `everyRequests`. @default never */
  readonly gc?: { readonly everyRequests: number; readonly pauseMs: number }
  /**
   * A process that has just started. The first request costs `times` as much CPU as in a warm process, and a third of
   * the excess is left after `requests`.
   */
  readonly warmUp?: { readonly times: number; readonly requests: number }
  /** The core, made anew for every run. @default a core that no other process uses */
  readonly core?: (random: Random) => Core
  /** Every request opens a connection, through this many listening sockets. @default connections are kept open */
  readonly fresh?: { readonly lanes: number; readonly acceptCostMs: number }
  /** The number of users, who are equally active. @default 0: requests have no user */
  readonly users?: number
  /** The criticality of a request. @default all are alike, and levels are unused */
  readonly criticality?: (user: number, random: Random) => CriticalityAnswer
}
