/**
 * Bounds every request of `node:http` and `node:https`, and so of axios, got, node-fetch, ws and all else that is built
 * on them. Node publishes each request and each response on diagnostics channels, however early `http.request` was
 * imported.
 *
 * It adds no listener whose presence changes what Node does: 'response', 'error', 'upgrade', 'connect', 'information'.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { nextTick } from 'node:process'
import { Readable } from 'node:stream'
import { originOf } from '../origin.ts'
import { missing } from './add-fields.ts'
import type { Bounds, Carrier, BoundedCall } from './call.ts'
import type { CallProgress } from './call-phases.ts'

const CREATED = 'http.client.request.created'
const RESPONSE = 'http.client.response.finish'
/** Just before 'error'. 'close' comes a turn of the loop later, and a retry may come between. */
const FAILED = 'http.client.request.error'

/** On a request and its response: a WeakMap would cost the garbage collector more than the call. */
const CARRIER: unique symbol = Symbol('meltproof.carrier')

type Request = ClientRequest & { [CARRIER]?: RequestCarrier }
type Response = IncomingMessage & { [CARRIER]?: RequestCarrier }

/** Bounds requests until the returned function is called; those in flight by then go on without bounds. */
export function boundNodeHttp(bounds: Bounds): () => void {
  const onCreated = (message: unknown): void => {
    bounds.guarded(() => {
      const { request } = message as { request: Request }
      const carrier = new RequestCarrier(request, bounds)
      const begun = bounds.begin(originOf(request), carrier)
      if (begun instanceof Error) carrier.refuse(begun)
      else if (begun !== undefined) carrier.follow(begun)
    })
  }
  const onResponse = (message: unknown): void => {
    bounds.guarded(() => {
      const { request, response } = message as { request: Request; response: Response }
      request[CARRIER]?.responded(response)
    })
  }
  const onFailed = (message: unknown): void => {
    ;(message as { request: Request }).request[CARRIER]?.call?.end()
  }
  subscribe(CREATED, onCreated)
  subscribe(RESPONSE, onResponse)
  subscribe(FAILED, onFailed)
  return () => {
    unsubscribe(FAILED, onFailed)
    unsubscribe(CREATED, onCreated)
    unsubscribe(RESPONSE, onResponse)
  }
}

// One listener for all requests rather than a closure each.
function onSocket(this: Request, socket: Socket): void {
  this[CARRIER]?.gotSocket(socket)
}

function onFinish(this: Request): void {
  this[CARRIER]?.call?.sent()
}

function onClose(this: Request): void {
  this[CARRIER]?.call?.end()
}

const { push: originalPush } = Readable.prototype

/** The parser gives every chunk of a body, and its end, to push(). A 'data' listener would start the flow. */
function push(this: Response, chunk: unknown, encoding?: BufferEncoding): boolean {
  const call = this[CARRIER]?.call
  if (chunk === null) call?.end()
  else call?.chunk((chunk as Uint8Array).length)
  const flows = originalPush.call(this, chunk, encoding)
  if (!flows && chunk !== null) call?.paused()
  return flows
}

const PUSH: PropertyDescriptor = { value: push, configurable: true, writable: true, enumerable: false }

class RequestCarrier implements Carrier {
  readonly #request: Request
  readonly #bounds: Bounds
  call: BoundedCall | undefined
  #response: IncomingMessage | undefined
  /** A keep-alive connection has sent the bytes of earlier requests. */
  #sentBefore = 0

  constructor(request: Request, bounds: Bounds) {
    this.#request = request
    this.#bounds = bounds
  }

  follow(call: BoundedCall): void {
    this.call = call
    const request = this.#request
    request[CARRIER] = this
    const fields = call.deadlineFields()
    // Given as a list, or with `expect`, the head of the request is written by now.
    if (fields.length > 0 && !request.headersSent) {
      for (const [name, value] of missing(request.getHeaderNames(), fields)) request.setHeader(name, value)
    }
    request.on('socket', onSocket)
    request.on('finish', onFinish)
    // Comes once for every request: after the body was read, after an error, after an upgrade.
    request.on('close', onClose)
  }

  responded(response: Response): void {
    const call = this.call
    if (call === undefined || call.ended) return
    this.#response = response
    // Where somebody else has replaced push(), the body is bounded in total only.
    if (response.push === originalPush) {
      response[CARRIER] = this
      Object.defineProperty(response, 'push', PUSH)
    }
    call.head(response.rawHeaders)
  }

  /** Ends a request that must not start, while its connection is not taken yet. */
  refuse(error: Error): void {
    this.#request.destroy(error)
    nextTick(() => this.#bounds.guarded(() => tellQueued(this.#request, error)))
  }

  fail(error: Error): void {
    const request = this.#request
    const response = this.#response
    if (response !== undefined) {
      // As for a connection that broke, but Node's own ECONNRESET would not say why.
      const { destroy } = response
      const destroyed = function (this: IncomingMessage): IncomingMessage {
        return destroy.call(this, error)
      }
      Object.defineProperty(response, 'destroy', { value: destroyed, configurable: true, writable: true })
      if (request.socket != null) request.socket.destroy(error)
      else response.destroy()
    } else if (request.socket != null) request.destroy(error)
    else {
      request.destroy(error)
      tellQueued(request, error)
    }
  }

  progress(): CallProgress {
    const request = this.#request
    const { socket } = request
    if (socket == null) return { paused: false, awaitingCaller: false, sentBytes: 0 }
    const unsent = socket.writableLength
    return {
      paused: socket.isPaused(),
      awaitingCaller: !request.writableEnded && unsent === 0,
      sentBytes: socket.bytesWritten - unsent - this.#sentBefore,
    }
  }

  gotSocket(socket: Socket): void {
    this.#bounds.guarded(() => {
      if (!socket.connecting && (socket as { secureConnecting?: boolean }).secureConnecting !== true) {
        this.#connected(socket)
        return
      }
      // A TLSSocket that connects says 'secureConnect' once it can be used.
      const event = 'encrypted' in socket ? 'secureConnect' : 'connect'
      const ready = (): void => this.#bounds.guarded(() => this.#connected(socket))
      socket.once(event, ready)
      this.#request.once('close', () => socket.removeListener(event, ready))
    })
  }

  #connected(socket: Socket): void {
    this.#sentBefore = socket.bytesWritten - socket.writableLength
    this.call?.connected()
  }
}

/**
 * Node tells a destroyed request that waits in its agent's queue only once it gets a connection, which may be never.
 * It leaves the queue and is told now.
 */
function tellQueued(request: ClientRequest, error: Error): void {
  const { agent } = request as { agent?: Agent }
  if (request.socket != null || request.closed || agent?.requests === undefined) return
  for (const [name, queue] of Object.entries(agent.requests as Record<string, ClientRequest[]>)) {
    const place = queue.indexOf(request)
    if (place < 0) continue
    queue.splice(place, 1)
    if (queue.length === 0) delete (agent.requests as Record<string, unknown>)[name]
    nextTick(() => {
      request.emit('error', error)
      request.emit('close')
    })
    return
  }
}
