/**
 * Stands between undici and whoever asked it for something: tells the call how it gets on, and ends it when a limit
 * passes. Two classes for undici's two generations of handlers; what they share is the base.
 */
import type { Bounds, Carrier, OutboundCall } from './call.ts'
import type { CallProgress } from './call-phases.ts'
import { CONTENT_TYPE, EVENT_STREAM, isRawEventStream } from './event-stream.ts'
import type { Guarded } from './fail-open.ts'
import type { Fields } from './limits.ts'
import type { CallbackHandler, Controller, ControllerHandler, DispatchOptions } from './undici-types.ts'

/** What both have in common; its instances are handlers that are bounded. */
export abstract class Carrying implements Carrier {
  protected call: OutboundCall | undefined
  protected readonly guarded: Guarded
  /** Why we gave up before there was a connection; it is told, and what undici says later is not. */
  protected gaveUp: Error | undefined
  /** A body of unknown length, which its producer may give at its own pace. */
  readonly #streams: boolean
  #sent = false

  constructor(options: Pick<DispatchOptions, 'body'>, guarded: Guarded) {
    this.#streams = isStream(options.body)
    this.guarded = guarded
  }

  /** Starts the call; an error when it must not start. */
  begin(bounds: Bounds, origin: string): Error | undefined {
    const begun = bounds.begin(origin, this)
    if (begun instanceof Error) return begun
    this.call = begun
    return undefined
  }

  /** Header fields that tell the other side how long we wait. */
  deadlineFields(): Fields {
    return this.call?.deadlineFields() ?? []
  }

  progress(): CallProgress {
    return { paused: this.paused(), awaitingCaller: this.#streams && !this.#sent, sentBytes: 0 }
  }

  /** undici threw instead of taking it: nothing was started. */
  abandon(): void {
    this.ended()
  }

  /** Ends a request that is made already and must not start. */
  refuse(error: Error): void {
    this.gaveUp = error
    queueMicrotask(() => this.tell(error))
  }

  fail(error: Error): void {
    if (this.abort(error)) return
    this.gaveUp = error
    this.tell(error)
  }

  onRequestSent(): void {
    this.#sent = true
    this.guarded(() => this.call?.sent(), undefined)
  }

  /** The request goes out; whole, unless its body is produced on the way. */
  protected connected(): void {
    this.guarded(() => {
      this.call?.connected()
      if (!this.#streams) this.call?.sent()
    }, undefined)
  }

  protected ended(): void {
    this.guarded(() => this.call?.end(), undefined)
  }

  /** Ends what undici has started; false when it has not started. */
  protected abstract abort(error: Error): boolean
  protected abstract tell(error: Error): void
  protected abstract paused(): boolean
}

/** For a handler of undici 5 to 7. */
export class BoundedCallbacks extends Carrying implements CallbackHandler {
  readonly #inner: CallbackHandler
  #abort: ((reason?: Error) => void) | undefined
  #paused = false

  constructor(inner: CallbackHandler, options: Pick<DispatchOptions, 'body'>, guarded: Guarded) {
    super(options, guarded)
    this.#inner = inner
  }

  onConnect(abort: (reason?: Error) => void, context?: unknown): void {
    if (this.gaveUp !== undefined) {
      abort(this.gaveUp)
      return
    }
    this.#abort = abort
    this.connected()
    this.#inner.onConnect?.(abort, context)
  }

  onHeaders(status: number, headers: readonly unknown[], resume: () => void, text?: string): boolean | undefined {
    if (status >= 200) this.guarded(() => this.call?.head(isRawEventStream(headers)), undefined)
    const resumed = (): void => {
      this.#paused = false
      resume()
    }
    return this.#note(this.#inner.onHeaders?.(status, headers, resumed, text))
  }

  onData(chunk: Uint8Array): boolean | undefined {
    this.guarded(() => this.call?.chunk(chunk.length), undefined)
    return this.#note(this.#inner.onData?.(chunk))
  }

  /** `false` asks undici to read no more until it is told to resume. */
  #note(flows: boolean | undefined): boolean | undefined {
    if (flows === false) {
      this.#paused = true
      this.call?.paused()
    }
    return flows
  }

  onComplete(trailers: unknown): void {
    this.ended()
    this.#inner.onComplete?.(trailers)
  }

  onError(error: Error): void {
    this.ended()
    if (this.gaveUp === undefined) this.#inner.onError?.(error)
  }

  onUpgrade(status: number, headers: unknown, socket: unknown): void {
    this.ended()
    this.#inner.onUpgrade?.(status, headers, socket)
  }

  onBodySent(chunk: unknown): void {
    this.#inner.onBodySent?.(chunk)
  }

  override onRequestSent(): void {
    super.onRequestSent()
    this.#inner.onRequestSent?.()
  }

  onResponseStarted(): void {
    this.#inner.onResponseStarted?.()
  }

  protected abort(error: Error): boolean {
    if (this.#abort === undefined) return false
    this.#abort(error)
    return true
  }

  protected tell(error: Error): void {
    this.#inner.onError?.(error)
  }

  protected paused(): boolean {
    return this.#paused
  }
}

/** For a handler of undici 7 and later. */
export class BoundedController extends Carrying implements ControllerHandler {
  readonly #inner: ControllerHandler
  #controller: Controller | undefined

  constructor(inner: ControllerHandler, options: Pick<DispatchOptions, 'body'>, guarded: Guarded) {
    super(options, guarded)
    this.#inner = inner
  }

  onRequestStart(controller: Controller, context?: unknown): void {
    if (this.gaveUp !== undefined) {
      controller.abort(this.gaveUp)
      return
    }
    this.#controller = controller
    this.connected()
    this.#inner.onRequestStart?.(controller, context)
  }

  onResponseStart(
    controller: Controller,
    status: number,
    headers: Readonly<Record<string, string | readonly string[] | undefined>>,
    text?: string,
  ): void {
    if (status >= 200) {
      this.guarded(() => this.call?.head(String(headers[CONTENT_TYPE] ?? '').startsWith(EVENT_STREAM)), undefined)
    }
    this.#inner.onResponseStart?.(controller, status, headers, text)
    if (controller.paused) this.call?.paused()
  }

  onResponseData(controller: Controller, chunk: Uint8Array): void {
    this.guarded(() => this.call?.chunk(chunk.length), undefined)
    this.#inner.onResponseData?.(controller, chunk)
    if (controller.paused) this.call?.paused()
  }

  onResponseEnd(controller: Controller, trailers: unknown): void {
    this.ended()
    this.#inner.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller: Controller | null, error: Error): void {
    this.ended()
    if (this.gaveUp === undefined) this.#inner.onResponseError?.(controller, error)
  }

  onRequestUpgrade(
    controller: Controller,
    status: number,
    headers: Readonly<Record<string, string | readonly string[] | undefined>>,
    socket: unknown,
  ): void {
    this.ended()
    this.#inner.onRequestUpgrade?.(controller, status, headers, socket)
  }

  onBodySent(chunk: unknown): void {
    this.#inner.onBodySent?.(chunk)
  }

  override onRequestSent(): void {
    super.onRequestSent()
    this.#inner.onRequestSent?.()
  }

  onResponseStarted(): void {
    this.#inner.onResponseStarted?.()
  }

  protected abort(error: Error): boolean {
    if (this.#controller === undefined) return false
    this.#controller.abort(error)
    return true
  }

  protected tell(error: Error): void {
    this.#inner.onResponseError?.(null, error)
  }

  protected paused(): boolean {
    return this.#controller?.paused ?? false
  }
}

function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !ArrayBuffer.isView(body)
}
