/**
 * The core does not measure requests: timing/ does, and registers itself here. The first request with a subscriber, or
 * the option `serverTiming`, loads timing/. Without either it is never loaded.
 */
import type { IncomingMessage, Server } from 'node:http'
import { createRequire } from 'node:module'
import { quietly, warn } from '../../warnings.ts'
import type { Exchange } from '../request/exchange.ts'

export interface Source {
  readonly guard: object
  readonly server: Server
}

export interface RequestObserver {
  /** How long a request that is being parsed now may have waited in its socket, at most since `sinceMs`, ms. */
  latenessNow(nowMs: number, sinceMs: number): number
  /**
   * Runs the handler with a timeline that its async work inherits. Exceptions of the handler pass through. `publish`
   * must follow when the response closes.
   * @param tells whether the answer gets a Server-Timing field
   */
  run(exchange: Exchange, tells: boolean, handle: () => boolean): boolean
  publish(source: Source, exchange: Exchange, atMs: number): void
  shedRecordsOf(source: Source): ShedRecords
}

/** Records of requests whose handler never ran; `reason` is undefined when the client has left. */
export interface ShedRecords {
  /** True if a request that is shed now is recorded with its details. */
  wantsRequest(nowMs: number): boolean
  note(reason: string | undefined, request: IncomingMessage, waitedMs: number, bytes: number, nowMs: number): void
  /** Counts a shed for which there is no request object. */
  add(reason: string | undefined, method: string, waitedMs: number): void
  publishRest(): void
}

let observer: RequestObserver | undefined
let isLoading = false

export function registerRequestObserver(registered: RequestObserver): void {
  observer = registered
}

/** Loads timing/ if it is not loaded, synchronously where that is possible. */
export function requestObserver(): RequestObserver | undefined {
  if (observer === undefined && !isLoading) load()
  return observer
}

function load(): void {
  isLoading = true
  // If the app is bundled, this file does not exist.
  quietly(() => createRequire(import.meta.url)('../../timing/observed.ts'))
  if (observer !== undefined) return
  // In an app bundled into one file, require() fails, or loads a second copy of meltproof, which registers itself only
  // in its own observer.ts. The bundler has included the file of this import.
  import('../../timing/observed.ts').catch(error => warn(`meltproof cannot record requests. ${String(error)}`))
}
