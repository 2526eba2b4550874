/**
 * Stands between undici and its caller: reports to the call how it gets on, and ends it when a limit passes. Two
 * classes, because undici has two generations of handlers; the base has what they share.
 */
import type { Bounds, Carrier } from './bounds.ts'
import { Call } from './call.ts'
import type { CallProgress } from './phases.ts'
import type {
  CallbackHandler,
  Controller,
  ControllerHandler,
  DispatchOptions,
  Handler,
  Headers,
} from './undici-types.ts'

type Sent = Pick<DispatchOptions, 'body' | 'method'>

/** Begins a call and makes the handler that carries it. `call.refusal` says when it must not start. */
export function boundedHandler(
  bounds: Bounds,
  origin: string,
  handler: Handler,
  options: Sent,
  withController: boolean,
): BoundedHandler {
  const Kind = withController ? BoundedController : BoundedCallbacks
  return new Kind(bounds, origin, handler, options)
}

export abstract class BoundedHandler implements Carrier {
  readonly call: Call | undefined
  protected readonly inner: Handler
  /** Why we gave up before there was a connection. The caller has been told; what undici says later is dropped. */
  protected gaveUp: Error | undefined
  /** A body of unknown length, which its producer may give at its own pace. */
  readonly #streams: boolean
  #sent = false

  constructor(bounds: Bounds, origin: string, inner: Handler, { body, method }: Sent) {
    this.inner = inner
    this.#streams = typeof body === 'object' && body !== null && !ArrayBuffer.isView(body)
    this.call = Call.http(origin, typeof method === 'string' ? method : 'GET', bounds, this)
  }

  progress(): CallProgress {
    return { paused: this.paused(), awaitingCaller: this.#streams && !this.#sent, sentBytes: 0 }
  }

  /** Ends a request that is made already and must not start. */
  refuse(error: Error): void {
    this.call?.end(error)
    this.gaveUp = error
    queueMicrotask(() => this.tell(error))
  }

  fail(error: Error): void {
    this.call?.end(error)
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

  protected connected(): void {
    this.call?.connected(false, !this.#streams)
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
    if (status >= 200) this.call?.answered(status, headers)
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
    this.call?.end()
    this.inner.onComplete?.(trailers)
  }

  onError(error: Error): void {
    this.call?.end(error)
    if (this.gaveUp === undefined) this.inner.onError?.(error)
  }

  onUpgrade(status: number, headers: unknown, socket: unknown): void {
    this.call?.end()
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
    if (status >= 200) this.call?.answered(status, headers)
    this.inner.onResponseStart?.(controller, status, headers, text)
    if (controller.paused) this.call?.paused()
  }

  onResponseData(controller: Controller, chunk: Uint8Array): void {
    this.call?.chunk(chunk.length)
    this.inner.onResponseData?.(controller, chunk)
    if (controller.paused) this.call?.paused()
  }

  onResponseEnd(controller: Controller, trailers: unknown): void {
    this.call?.end()
    this.inner.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller: Controller | null, error: Error): void {
    this.call?.end(error)
    if (this.gaveUp === undefined) this.inner.onResponseError?.(controller, error)
  }

  onRequestUpgrade(controller: Controller, status: number, headers: Headers, socket: unknown): void {
    this.call?.end()
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
