/** Wraps a handler of undici, of either generation (undici-types.ts), and reports its progress to the call. */
import type { Bounds } from './bounds.ts'
import { Call } from './call.ts'
import type { Headers } from './headers.ts'
import type { Carrier } from './call-limiter.ts'
import type { CallProgress } from './phases.ts'
import { isBehindOthers } from './undici-client.ts'
import type { CallbackHandler, Controller, ControllerHandler, DispatchOptions, Handler } from './undici-types.ts'

export function methodOf(method: unknown): string {
  return typeof method === 'string' ? method : 'GET'
}

type Sent = Pick<DispatchOptions, 'body' | 'method' | 'path'>

/** A call between the first of undici's dispatchers and the request that a Client creates for it. */
export class Dispatched {
  call: Call | undefined
  /** The dispatcher that received the call last. Undefined if the call did not pass meltproof's `dispatch`. */
  dispatcher: object | undefined = undefined
  /** True if undici opened a connection when it created the request. Only known without a {@link dispatcher}. */
  opens = false
  /** Updates the header fields for the tier that is called. */
  updateFields: (() => void) | undefined = undefined
  #made = false

  constructor(call?: Call) {
    this.call = call
  }

  /** undici has created a request for the call. Returns false for a further one, created by a retry or a redirect. */
  taken(): boolean {
    if (this.#made) return false
    this.#made = true
    this.call?.connecting()
    return true
  }

  /** True while the call waits in a Pool, or in the queue of a Client. */
  protected get waits(): boolean {
    if (!this.#made) return true
    // If the Client is unknown, the call may wait on a healthy connection, and must not fail.
    return this.dispatcher === undefined ? !this.opens : isBehindOthers(this.dispatcher, this.call?.peer)
  }
}

/** Begins a call, and handles its events. If `call.refusal` is set, the call must not start. */
export abstract class BoundedHandler extends Dispatched implements Carrier {
  protected readonly inner: Handler
  protected paused = false
  readonly #streams: boolean
  #sent = false
  #abort: ((error: Error) => void) | undefined
  /** Why meltproof gave up before undici started. The caller has the error, so later reports of undici are ignored. */
  #gaveUp: Error | undefined

  constructor(bounds: Bounds, origin: string, inner: Handler, { body, method, path }: Sent) {
    super()
    this.inner = inner
    this.#streams = typeof body === 'object' && body !== null && !ArrayBuffer.isView(body)
    this.call = Call.http(origin, methodOf(method), path, true, bounds, this)
  }

  progress(): CallProgress {
    return { queued: this.waits, paused: this.paused, awaitingCaller: this.#streams && !this.#sent, sentBytes: 0 }
  }

  refuse(error: Error): void {
    this.call?.end(error)
    this.#gaveUp = error
    queueMicrotask(() => this.report(error))
  }

  fail(error: Error, queued = false): void {
    this.call?.fail(error, queued && this.#abort === undefined)
    if (this.#abort !== undefined) this.#abort(error)
    else {
      this.#gaveUp = error
      this.report(error)
    }
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

  /** undici has a connection; returns false when meltproof has given up. */
  protected started(abort: (error: Error) => void): boolean {
    if (this.#gaveUp !== undefined) {
      abort(this.#gaveUp)
      return false
    }
    this.#abort = abort
    // undici writes the head next.
    if (this.call?.statesTooMuch) this.updateFields?.()
    this.call?.connected(false, !this.#streams)
    if (!this.#streams) this.call?.sent()
    return true
  }

  protected note(paused: boolean): void {
    this.paused = paused
    if (paused) this.call?.limiter?.phases.paused()
  }

  protected endWith(trailers: unknown): void {
    if (typeof trailers === 'object' && trailers !== null) this.call?.limiter?.trailers(trailers as Headers)
    this.call?.end()
  }

  protected failed(error: Error): boolean {
    this.call?.end(error)
    return this.#gaveUp === undefined
  }

  protected abstract report(error: Error): void
}

export class BoundedCallbacks extends BoundedHandler implements CallbackHandler {
  onConnect(abort: (reason?: Error) => void, context?: unknown): void {
    if (this.started(abort)) this.inner.onConnect?.(abort, context)
  }

  onHeaders(status: number, headers: readonly unknown[], resume: () => void, text?: string): boolean | undefined {
    if (status >= 200) this.call?.answered(status, headers)
    const resumed = (): void => {
      this.paused = false
      resume()
    }
    // `false` asks undici to stop reading until it is resumed.
    const flows = this.inner.onHeaders?.(status, headers, resumed, text)
    if (flows === false) this.note(true)
    return flows
  }

  onData(chunk: Uint8Array): boolean | undefined {
    this.call?.limiter?.chunk(chunk.length)
    const flows = this.inner.onData?.(chunk)
    if (flows === false) this.note(true)
    return flows
  }

  onComplete(trailers: unknown): void {
    this.endWith(trailers)
    this.inner.onComplete?.(trailers)
  }

  onError(error: Error): void {
    if (this.failed(error)) this.inner.onError?.(error)
  }

  onUpgrade(status: number, headers: unknown, socket: unknown): void {
    this.call?.answered(status, headers as Headers)
    this.call?.end()
    this.inner.onUpgrade?.(status, headers, socket)
  }

  protected report(error: Error): void {
    this.inner.onError?.(error)
  }
}

export class BoundedController extends BoundedHandler implements ControllerHandler {
  #controller: Controller | undefined

  onRequestStart(controller: Controller, context?: unknown): void {
    this.#controller = controller
    if (this.started(error => controller.abort(error))) this.inner.onRequestStart?.(controller, context)
  }

  onResponseStart(controller: Controller, status: number, headers: Headers, text?: string): void {
    if (status >= 200) this.call?.answered(status, headers)
    this.inner.onResponseStart?.(controller, status, headers, text)
    this.note(controller.paused)
  }

  onResponseData(controller: Controller, chunk: Uint8Array): void {
    this.call?.limiter?.chunk(chunk.length)
    this.inner.onResponseData?.(controller, chunk)
    this.note(controller.paused)
  }

  onResponseEnd(controller: Controller, trailers: unknown): void {
    this.endWith(trailers)
    this.inner.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller: Controller | null, error: Error): void {
    if (this.failed(error)) this.inner.onResponseError?.(controller, error)
  }

  onRequestUpgrade(controller: Controller, status: number, headers: Headers, socket: unknown): void {
    this.call?.answered(status, headers)
    this.call?.end()
    this.inner.onRequestUpgrade?.(controller, status, headers, socket)
  }

  override progress(): CallProgress {
    return { ...super.progress(), paused: this.#controller?.paused === true }
  }

  protected report(error: Error): void {
    this.inner.onResponseError?.(null, error)
  }
}
