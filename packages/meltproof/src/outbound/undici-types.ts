/** The part of undici's dispatcher interface that meltproof uses. There are two generations of handlers. */
import type { Headers } from './headers.ts'

export interface DispatchOptions {
  readonly origin?: string | URL | undefined
  readonly method?: unknown
  readonly path?: unknown
  readonly body?: unknown
  readonly [other: string | symbol]: unknown
}

export type Dispatch = (this: object, options: DispatchOptions, handler: Handler) => boolean

export type Handler = CallbackHandler & ControllerHandler

interface SendingHandler {
  onBodySent?(chunk: unknown): void
  onRequestSent?(): void
  onResponseStarted?(): void
}

/** undici 5 to 7: `abort` and `resume` are passed as functions, headers are raw pairs. */
export interface CallbackHandler extends SendingHandler {
  onConnect?(abort: (reason?: Error) => void, context?: unknown): void
  onHeaders?(status: number, headers: readonly unknown[], resume: () => void, statusText?: string): boolean | undefined
  onData?(chunk: Uint8Array): boolean | undefined
  onComplete?(trailers: unknown): void
  onError?(error: Error): void
  onUpgrade?(status: number, headers: unknown, socket: unknown): void
}

/** undici 7 and later: all methods receive a controller, headers are an object. */
export interface ControllerHandler extends SendingHandler {
  onRequestStart?(controller: Controller, context?: unknown): void
  onResponseStart?(controller: Controller, status: number, headers: Headers, statusText?: string): void
  onResponseData?(controller: Controller, chunk: Uint8Array): void
  onResponseEnd?(controller: Controller, trailers: unknown): void
  onResponseError?(controller: Controller | null, error: Error): void
  onRequestUpgrade?(controller: Controller, status: number, headers: Headers, socket: unknown): void
}

export interface Controller {
  readonly paused: boolean
  abort(reason: Error): void
}
