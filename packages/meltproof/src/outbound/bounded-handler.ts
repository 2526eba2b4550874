/**
 * Stands between undici and its caller: tells the call how it gets on, and ends it when a limit passes. Two classes for undici's two generations of handlers; what they share is the base.
 */
import type { Bounds, Carrier, BoundedCall } from './call.ts'
import type { CallProgress } from './call-phases.ts'
import type { Fields } from './limits.ts'
import type {
  CallbackHandler,
  Controller,
  ControllerHandler,
  DispatchOptions,
  Handler,
  Headers,
} from './undici-types.ts'

type Body = Pick<DispatchOptions, 'body'>

/** Starts a call and makes the handler that bounds it; `refusal` when it must not start. */
export function boundHandler(
  bounds: Bounds,
  origin: string,
  handler: Handler,
  options: Body,
  withController: boolean,
): { readonly bounded: BoundedHandler; readonly refusal: Error | undefined } {
  const bounded = withController ? new BoundedController(handler, options) : new BoundedCallbacks(handler, options)
  return { bounded, refusal: bounded.begin(bounds, origin) }
}

/** What both generations have in common. */
export abstract class BoundedHandler implements Carrier {
  protected readonly inner: Handler
  protected call: BoundedCall | undefined
  /** Why we gave up before there was a connection; it is told, and what undici says later is not. */
  protected gaveUp: Error | undefined
  /** A body of unknown length, which its producer may give at its own pace. */
  readonly #streams: boolean
  #sent = false

  constructor(inner: Handler, { body }: Body) {
    this.inner = inner
    this.#streams = typeof body === 'object' && body !== null && !ArrayBuffer.isView(body)
  }

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

  /** The call is over. */
  end(): void {
    this.call?.end()
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

  onBodySent(chunk: unknown): void {
    this.inner.onBodySent?.(chunk)
  }

  onRequestSent(): void {
    this.#sent = true
    this.call?.sent()
    this.inner.onRequestSent?.()
  }

  onResponseStarted(): void {
    this.inner.onResponseStarted?.()
  }

  /** The request goes out; whole, unless its body is produced on the way. */
  protected connected(): void {
    this.call?.connected()
    if (!this.#streams) this.call?.sent()
  }

  /** Ends what undici has started; false when it has not started. */
  protected abstract abort(error: Error): boolean
  protected abstract tell(error: Error): void
  protected abstract paused(): boolean
}

/** For a handler of undici 5 to 7. */
class BoundedCallbacks extends BoundedHandler implements CallbackHandler {
  #abort: ((reason?: Error) => void) | undefined
  #paused = false

  onConnect(abort: (reason?: Error) => void, context?: unknown): void {
    if (this.gaveUp !== undefined) {
      abort(this.gaveUp)
      return
    }
    this.#abort = abort
    this.connected()
    this.inner.onConnect?.(abort, context)
  }

  onHeaders(status: number, headers: readonly unknown[], resume: () => void, text?: string): boolean | undefined {
    if (status >= 200) this.call?.head(headers)
    const resumed = (): void => {
      this.#paused = false
      resume()
    }
    return this.#note(this.inner.onHeaders?.(status, headers, resumed, text))
  }

  onData(chunk: Uint8Array): boolean | undefined {
    this.call?.chunk(chunk.length)
    return this.#note(this.inner.onData?.(chunk))
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
    this.end()
    this.inner.onComplete?.(trailers)
  }

  onError(error: Error): void {
    this.end()
    if (this.gaveUp === undefined) this.inner.onError?.(error)
  }

  onUpgrade(status: number, headers: unknown, socket: unknown): void {
    this.end()
    this.inner.onUpgrade?.(status, headers, socket)
  }

  protected abort(error: Error): boolean {
    this.#abort?.(error)
    return this.#abort !== undefined
  }

  protected tell(error: Error): void {
    this.inner.onError?.(error)
  }

  protected paused(): boolean {
    return this.#paused
  }
}

/** For a handler of undici 7 and later. */
class BoundedController extends BoundedHandler implements ControllerHandler {
  #controller: Controller | undefined

  onRequestStart(controller: Controller, context?: unknown): void {
    if (this.gaveUp !== undefined) {
      controller.abort(this.gaveUp)
      return
    }
    this.#controller = controller
    this.connected()
    this.inner.onRequestStart?.(controller, context)
  }

  onResponseStart(controller: Controller, status: number, headers: Headers, text?: string): void {
    if (status >= 200) this.call?.head(headers)
    this.inner.onResponseStart?.(controller, status, headers, text)
    if (controller.paused) this.call?.paused()
  }

  onResponseData(controller: Controller, chunk: Uint8Array): void {
    this.call?.chunk(chunk.length)
    this.inner.onResponseData?.(controller, chunk)
    if (controller.paused) this.call?.paused()
  }

  onResponseEnd(controller: Controller, trailers: unknown): void {
    this.end()
    this.inner.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller: Controller | null, error: Error): void {
    this.end()
    if (this.gaveUp === undefined) this.inner.onResponseError?.(controller, error)
  }

  onRequestUpgrade(controller: Controller, status: number, headers: Headers, socket: unknown): void {
    this.end()
    this.inner.onRequestUpgrade?.(controller, status, headers, socket)
  }

  protected abort(error: Error): boolean {
    this.#controller?.abort(error)
    return this.#controller !== undefined
  }

  protected tell(error: Error): void {
    this.inner.onResponseError?.(null, error)
  }

  protected paused(): boolean {
    return this.#controller?.paused ?? false
  }
}
