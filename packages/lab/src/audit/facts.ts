/** The facts that the observer inside a process writes down and the lab reads. Types only. */
import type { Cause } from './causes.ts'

/** The lab sets the phase; each observer reports the phase that it has entered. */
export type Phase = 'start' | 'alone' | 'together' | 'end'

/** The number of times that one cause was observed for one resource, at one place in the code, for one path. */
export interface Tally {
  readonly cause: Cause
  /** A host, pool or stream. */
  readonly what: string
  /** Such as `src/prices.js:14 (loadPrice)`; empty where the stack names no file. */
  readonly where: string
  /** The path with its query, for writes in the phase `alone`; otherwise empty. */
  readonly path: string
  readonly times: number
  /** The longest queue observed there; 0 without one. */
  readonly longestQueue: number
}

export interface ServerFacts {
  readonly address: string
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
}

/** A function of the app that blocked the event loop. */
export interface Hold {
  readonly where: string
  /** The function it was calling, such as `pbkdf2Sync`; empty if it did the work itself. */
  readonly calls: string
  /** The path requested when the stall ended, with its query. */
  readonly path: string
  readonly tookMs: readonly number[]
}

/** The requests to one path in the phase `alone`. */
export interface PathFacts {
  readonly path: string
  readonly requests: number
  /** Sum of the times from each request to the next, ms. */
  readonly tookMs: number
}

export interface Facts {
  readonly pid: number
  readonly node: string
  readonly phase: Phase
  /** Requests of the load that the servers of this process received. */
  readonly requests: number
  readonly tallies: readonly Tally[]
  /** The servers that received requests. */
  readonly servers: readonly ServerFacts[]
  readonly holds: readonly Hold[]
  readonly paths: readonly PathFacts[]
  /** The process that must be ended to end this one: for a cluster worker, its primary. */
  readonly terminate: number
  readonly listensToSigterm: boolean
  /** State at exit; null while the process runs, or when a signal killed it. */
  readonly exit: {
    /** True if a server still accepted connections. */
    readonly listening: boolean
    readonly unfinished: number
  } | null
}
