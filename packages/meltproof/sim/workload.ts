/** What is asked of a simulated service, and by whom. */
import type { CriticalityAnswer } from '../src/admission/queue/criticality.ts'
import type { Core } from './core.ts'
import type { Random } from './random.ts'

/** One step of a handler. */
export type Step =
  /** CPU without yielding, ms. */
  | { readonly cpu: number }
  /** Yields with setImmediate. */
  | 'yield'
  /** Sleeps on a timer of the loop, which fires late when the loop is busy, ms. */
  | { readonly timer: number }
  /** Waits for something with room for everybody, ms. */
  | { readonly wait: number }
  /**
   * Holds one of a pool's connections for this long, ms, or for what the function says when it has one. Without a name it
   * is the pool of `poolSize`; with one, that of `pools`: threads, a lock (a pool of one), a second database.
   */
  | { readonly pool: number | ((nowMs: number) => number | Taken); readonly of?: string }
  /** Waits for the client, who is sending the body, ms. */
  | { readonly upload: number }
  /** Waits for the client, who is reading an answer that has begun, ms. */
  | { readonly stream: number }
  /** The status of its answer; 400 and above is not goodput. @default 200 */
  | { readonly status: number }
  /** Is part of the next write of the one group commit there is, and waits for its end. */
  | 'write'
  /** Calls another service for the request, and waits until it has answered. */
  | { readonly call: (atMs: number, request: object, answered: (atMs: number, failed: boolean) => void) => void }

/** How long a call to something crowded took, and what of it the call would have taken alone, ms. */
export interface Taken {
  readonly takesMs: number
  readonly ownMs: number
}

/** Clients that come at once: each sends its next request when the one before was answered or shed. */
export interface Cohort {
  readonly atMs: number
  readonly clients: number
  /** How many each sends. */
  readonly requests: number
  /** Their first requests are spread evenly over this time, ms. @default 0 */
  readonly withinMs?: number
  /** Between an answer and the next request, exponential, ms. @default 0 */
  readonly thinkMs?: number
  /** The kind of a client's request number n, from 0. @default 0 */
  readonly kind?: (n: number) => number
}

export interface Kind {
  /** Its share of the requests. */
  readonly share: number | ((nowMs: number) => number)
  /** What it does. */
  readonly steps: (random: Random, nowMs: number) => readonly Step[]
  /** What it asks for. @default a path of its own */
  readonly path?: (random: Random, nowMs: number) => string
  /** Who asks, a whole number. @default clients are not told apart */
  readonly client?: (random: Random) => number
  /** It is answered 404. @default false */
  readonly notFound?: boolean
  /** Kinds of one route (path and method) are one to admission while they are in service. @default a route of its own */
  readonly route?: number
}

export interface Workload {
  /** Arrivals per second at a time. */
  readonly rate: (nowMs: number) => number
  /** Who comes when, instead of a rate; in order. */
  readonly arrivals?: readonly { readonly atMs: number; readonly kind: number }[]
  /** What one request does. */
  readonly steps: (random: Random, nowMs: number) => readonly Step[]
  /** Kinds of requests, instead of `steps`. */
  readonly kinds?: readonly Kind[]
  /** Clients besides those of `rate`. @default none */
  readonly cohorts?: readonly Cohort[]
  /** Connections of the pool without a name. @default 10 */
  readonly poolSize?: number
  /** Sizes of the pools with names. @default none */
  readonly pools?: Readonly<Record<string, number>>
  /** What a write of the group commit takes: so long, ms, and so much more for each who is part of it. @default 5, 0.05 */
  readonly group?: { readonly writeMs: number | ((random: Random, nowMs: number) => number); readonly eachMs: number }
  /** Clients give up after so long, ms, and the server learns of it. @default never */
  readonly patienceMs?: number
  /** How often a client tries again, after a shed, an answer of 500 and above, or giving up. @default 0 */
  readonly retries?: number
  /** Stalls of the loop, whatever runs: at, for, ms. */
  readonly stalls?: readonly (readonly [atMs: number, forMs: number])[]
  /** The garbage that requests leave behind stops the loop once in so many of them. @default never */
  readonly gc?: { readonly everyRequests: number; readonly pauseMs: number }
  /**
   * The process has just started: what the first to be served costs, as so many times what it costs once the compiler
   * has seen enough; of what is beyond, a third is left after so many requests.
   */
  readonly warmUp?: { readonly times: number; readonly requests: number }
  /** The core, made anew for every run. @default one of our own */
  readonly core?: (random: Random) => Core
  /** Every request comes on a connection of its own, through so many listening sockets. @default standing connections */
  readonly fresh?: { readonly lanes: number; readonly acceptCostMs: number }
  /** Users, each as active as the others; whose request it is. @default 0: nobody in particular */
  readonly users?: number
  /** What a request is worth. @default all are alike, and levels are not in use */
  readonly criticality?: (user: number, random: Random) => CriticalityAnswer
}
