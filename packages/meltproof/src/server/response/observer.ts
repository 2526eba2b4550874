/**
 * The core does not measure the parts of a request: timing/ does, and registers itself here. The first request with a
 * subscriber loads timing/. A server without subscribers never loads it.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { warn } from '../../warnings.ts'
import type { Exchange } from '../request/exchange.ts'

/** Whose requests these are. */
export interface Source {
  readonly guard: object
  readonly server: Server
}

export interface RequestObserver {
  /** How long a request that is parsed right now may have lain in its socket, ms; not before `sinceMs`. */
  latenessNow(nowMs: number, sinceMs: number): number
  /**
   * Runs the handler with a timeline, which everything it starts belongs to. Its exceptions pass. `publish` must follow when
   * the response closes.
   * @param tells whether the answer says how long it took us
   */
  run(
    exchange: Exchange,
    request: IncomingMessage,
    response: ServerResponse,
    tells: boolean,
    handle: () => boolean,
  ): boolean
  /** Publishes the record of a request that `run` was called for. */
  publish(source: Source, exchange: Exchange, atMs: number): void
  shedRecordsOf(source: Source): ShedRecords
}

/** Of requests whose handler never ran; `reason` is undefined where the client has left. */
export interface ShedRecords {
  /** Whether one that comes now is told with its request. */
  wantsRequest(nowMs: number): boolean
  note(reason: string | undefined, request: IncomingMessage, waitedMs: number, bytes: number, nowMs: number): void
  /** One of which there is no request. */
  add(reason: string | undefined, method: string, waitedMs: number): void
  /** Tells those that were put together. */
  tellRest(): void
}

let observer: RequestObserver | undefined
let isLoading = false

export function registerRequestObserver(registered: RequestObserver): void {
  observer = registered
}

/** Loads it, at once where it can be. */
export function requestObserver(): RequestObserver | undefined {
  if (observer === undefined && !isLoading) load()
  return observer
}

export function latenessNow(nowMs: number, sinceMs: number): number {
  return requestObserver()?.latenessNow(nowMs, sinceMs) ?? 0
}

function load(): void {
  isLoading = true
  try {
    createRequire(import.meta.url)('../../timing/observed.ts')
  } catch {
    // In an app that a bundler has made one file of. It has found this import.
    import('../../timing/observed.ts').catch(error => warn(`meltproof cannot record requests. ${String(error)}`))
  }
}
