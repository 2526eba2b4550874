/** What the observer inside of a process has seen, as it writes it down, and the lab reads it. Types only. */
import type { Cause } from './causes.ts'

/** The lab names the phase, the observer repeats it once it acts on it. */
export type Phase = 'start' | 'alone' | 'together' | 'end'

/** The same cause, about the same thing, from the same place, for the same path. */
export interface Tally {
  readonly cause: Cause
  /** Host, pool or stream. */
  readonly what: string
  /** `src/prices.js:14 (loadPrice)`; empty where the stack names no file. */
  readonly where: string
  /** With its query, of writes while each request was alone; else empty. */
  readonly path: string
  readonly times: number
  /** The longest queue that was seen there; 0 where none was. */
  readonly longestQueue: number
}

export interface ServerFacts {
  readonly address: string
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
}

/** A function of the app that kept the event loop from turning. */
export interface Hold {
  readonly where: string
  /** The function it called meanwhile, such as `pbkdf2Sync`; empty where it did the work itself. */
  readonly calls: string
  /** The path that was asked meanwhile, with its query. */
  readonly path: string
  /** Of each time, ms. */
  readonly tookMs: readonly number[]
}

/** What a path was asked while each request was alone. */
export interface PathFacts {
  /** With its query. */
  readonly path: string
  readonly requests: number
  /** From each request to the next, ms. */
  readonly tookMs: number
}

export interface Facts {
  readonly pid: number
  /** Of Node: `v24.21.0`. */
  readonly node: string
  readonly phase: Phase
  /** Requests of the load that its servers were asked. */
  readonly requests: number
  readonly tallies: readonly Tally[]
  /** Those that were asked something. */
  readonly servers: readonly ServerFacts[]
  readonly holds: readonly Hold[]
  readonly paths: readonly PathFacts[]
  /** The process to end when this one is to end: of a cluster's worker its primary. */
  readonly terminate: number
  readonly listensToSigterm: boolean
  /** How it exited; null while it runs, and when a signal killed it. */
  readonly exit: {
    /** A server still took connections. */
    readonly listening: boolean
    /** Requests that had no whole answer yet. */
    readonly unfinished: number
  } | null
}
