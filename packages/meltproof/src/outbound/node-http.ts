/**
 * Hooks into every request of `node:http` and `node:https`, and so of axios, got, node-fetch, ws and everything else
 * built on them, even if `http.request` was imported earlier. It adds no listener for 'response', 'error', 'upgrade',
 * 'connect' or 'information' to a request, because their presence changes what Node does.
 */
import { Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { nextTick } from 'node:process'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers'
import { installed } from './bounds.ts'
import { Call, isObserved } from './call.ts'
import type { Carrier } from './call-limiter.ts'
import { sharedListeners } from './listeners.ts'
import { originOf } from './origin.ts'
import type { CallProgress } from './phases.ts'
import { keepFromEndingProcess } from './without-listener.ts'

/** Property of a request and its response. A WeakMap would cost more, in garbage collection, than the call. */
const CARRIER: unique symbol = Symbol('meltproof.carrier')

/** Property of a request that its agent has not received yet: the function that passes it to the agent. */
const HELD: unique symbol = Symbol('meltproof.held')

type Request = ClientRequest & { [CARRIER]?: RequestCarrier; [HELD]?: (() => void) | undefined }
type Response = IncomingMessage & { [CARRIER]?: RequestCarrier }

export const useNodeHttp: () => () => void = sharedListeners({
  'http.client.request.created': ({ request }: { readonly request: Request }) => {
    const { bounds } = installed
    if (bounds !== undefined || isObserved()) {
      const carrier = new RequestCarrier(request)
      const call = Call.http(originOf(request), request.method, request.path, true, bounds, carrier)
      if (call !== undefined) carrier.follow(call)
    }
    letGo(request)
  },
  'http.client.response.finish': ({ request, response }: { readonly request: Request; readonly response: Response }) =>
    request[CARRIER]?.responded(response),
  // Published just before 'error'. 'close' follows a turn of the loop later, and a retry may happen in between.
  'http.client.request.error': ({ request, error }: { readonly request: Request; readonly error: unknown }) =>
    request[CARRIER]?.failed(error ?? new Error('failed')),
})

/**
 * Holds back requests to origins with a learned limit, until it is known whether they must wait: Node announces a
 * request only after its agent has received it. Agents with their own addRequest() are not changed.
 */
export function holdRequests(): () => void {
  const prototype = Agent.prototype as unknown as { addRequest(request: Request, ...rest: unknown[]): void }
  const { addRequest } = prototype
  const hold = function (this: Agent, request: Request, ...rest: unknown[]): void {
    const go = (): void => Reflect.apply(addRequest, this, [request, ...rest])
    const limits = installed.bounds?.limits.of(originOf(request))
    if (limits === undefined || limits === false || !limits.adaptive) {
      go()
      return
    }
    request[HELD] = go
    // Releases the request at the latest here, because Node may never announce it.
    nextTick(letGo, request)
  }
  prototype.addRequest = hold
  return () => {
    if (prototype.addRequest === hold) prototype.addRequest = addRequest
  }
}

function letGo(request: Request): void {
  const go = request[HELD]
  request[HELD] = undefined
  if (go !== undefined) give(request, go)
}

/**
 * Node throws some errors, such as one for a bad certificate, to the caller of http.request(). That call has returned
 * before a held request starts, so the request emits them.
 */
function give(request: Request, go: () => void): void {
  try {
    go()
  } catch (error) {
    request[CARRIER]?.call?.end(error)
    keepFromEndingProcess(request, error as Error)
    request.destroy(error as Error)
    emitError(request, error as Error)
  }
}

// These listeners are shared by all requests, instead of a closure for each.
function onSocket(this: Request, socket: Socket): void {
  this[CARRIER]?.gotSocket(socket)
}

function onFinish(this: Request): void {
  this[CARRIER]?.call?.sent()
}

function onClose(this: Request): void {
  this[CARRIER]?.closed()
}

/** Observes a body: the parser passes every chunk, and the end, to push(). A 'data' listener would start the flow. */
function observing(push: Readable['push']): PropertyDescriptor {
  const value = function (this: Response, chunk: unknown, encoding?: BufferEncoding): boolean {
    const call = this[CARRIER]?.call
    if (chunk === null) call?.end()
    else call?.limiter?.chunk((chunk as Uint8Array).length)
    const flows = push.call(this, chunk, encoding)
    if (!flows && chunk !== null) call?.limiter?.phases.paused()
    return flows
  }
  return { value, configurable: true, writable: true, enumerable: false }
}

const { push: originalPush } = Readable.prototype
const PUSH = observing(originalPush)

class RequestCarrier implements Carrier {
  readonly #request: Request
  call: Call | undefined
  #response: IncomingMessage | undefined
  /** True while the request is held back from its agent. */
  #waits = false
  /** Bytes that a keep-alive connection sent for earlier requests. */
  #sentBefore = 0

  constructor(request: Request) {
    this.#request = request
  }

  follow(call: Call): void {
    this.call = call
    if (call.refusal !== undefined) {
      this.#refuse(call.refusal)
      return
    }
    const request = this.#request
    request[CARRIER] = this
    if (call.limiter?.tells(call.peer)) this.#writeFields(call)
    request.on('socket', onSocket)
    request.on('finish', onFinish)
    // 'close' is emitted once for every request: after the body of the answer, after an error or after an upgrade.
    request.on('close', onClose)
    const waiting = call.waitsFor
    if (waiting === undefined) return
    const go = request[HELD]
    if (go === undefined) {
      waiting.cancelled() // This agent's requests cannot be held back.
      return
    }
    request[HELD] = undefined
    this.#waits = true
    waiting.onStart(() => {
      this.#waits = false
      give(request, go)
    })
  }

  /**
   * Writes the fields for a tier. If Node has written the head (headers in a list, `expect`), only values can change.
   */
  #writeFields(call: Call): void {
    const request = this.#request
    if (request.headersSent) shortenHead(request, call)
    else for (const field of call.tierFields(name => request.getHeader(name)?.toString())) request.setHeader(...field)
  }

  responded(response: Response): void {
    const call = this.call
    if (call === undefined || call.ended) return
    this.#response = response
    response[CARRIER] = this
    Object.defineProperty(response, 'push', response.push === originalPush ? PUSH : observing(response.push))
    call.answered(response.statusCode, response.rawHeaders)
  }

  failed(error: unknown): void {
    // Node reports a broken connection and a request destroyed by its caller in the same way.
    if (this.#request.destroyed) this.call?.limiter?.cancelled()
    this.call?.end(error)
  }

  closed(): void {
    const { res } = this.#request as { res?: IncomingMessage | null }
    // 'http.client.response.finish' is not published for upgrades, so their answer is noted here.
    if (res != null && this.#response === undefined) this.call?.answered(res.statusCode, res.rawHeaders)
    this.call?.end(this.#response?.complete === false ? new Error('aborted') : undefined)
  }

  #refuse(error: Error): void {
    const request = this.#request
    this.call?.end(error)
    keepFromEndingProcess(request, error)
    request.destroy(error)
    if (request[HELD] === undefined) nextTick(() => failQueued(request, error))
    else {
      request[HELD] = undefined
      emitError(request, error)
    }
  }

  fail(error: Error): void {
    this.call?.fail(error, this.progress().queued)
    const request = this.#request
    const response = this.#response
    for (const emitter of [request, response, request.socket])
      if (emitter != null) keepFromEndingProcess(emitter, error)
    if (response !== undefined) {
      // Ends the body as a broken connection does, but with this error, because Node's ECONNRESET gives no reason.
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
      if (this.#waits) emitError(request, error)
      else if (placeInQueue(request) !== undefined) failQueued(request, error)
      else failWithoutSocket(request, error)
    }
  }

  progress(): CallProgress {
    const request = this.#request
    const { socket } = request
    if (socket == null) {
      const queued = this.#waits || placeInQueue(request) !== undefined
      return { queued, paused: false, awaitingCaller: false, sentBytes: 0 }
    }
    const unsent = socket.writableLength
    return {
      queued: false,
      paused: socket.isPaused(),
      awaitingCaller: !request.writableEnded && unsent === 0,
      sentBytes: socket.bytesWritten - unsent - this.#sentBefore,
    }
  }

  gotSocket(socket: Socket): void {
    const { call } = this
    if (call?.statesTooMuch) this.#writeFields(call)
    if (!socket.connecting && (socket as { secureConnecting?: boolean }).secureConnecting !== true) {
      this.#connected(socket, false)
      return
    }
    this.call?.connecting()
    // A connecting TLSSocket emits 'secureConnect' once it can be used.
    const event = 'encrypted' in socket ? 'secureConnect' : 'connect'
    const ready = (): void => this.#connected(socket, true)
    socket.once(event, ready)
    this.#request.once('close', () => socket.removeListener(event, ready))
  }

  #connected(socket: Socket, made: boolean): void {
    this.#sentBefore = socket.bytesWritten - socket.writableLength
    this.call?.connected(made, this.#request.writableEnded)
  }
}

/** Updates the fields of a head that is not sent yet. Pads shorter values, because Node has counted the length. */
function shortenHead(request: ClientRequest, call: Call): void {
  const [first] = (request as { outputData?: { data: unknown }[] }).outputData ?? []
  if (typeof first?.data !== 'string') return
  let { data } = first
  const fieldOf = (name: string): string | undefined => {
    const [, value] = data.slice(0, data.indexOf('\r\n\r\n')).split(`\r\n${name}: `)
    return value?.split('\r\n', 1)[0]
  }
  for (const [name, value] of call.tierFields(fieldOf)) {
    const given = fieldOf(name)
    if (given === undefined || value.length > given.length) continue
    data = data.replace(`\r\n${name}: ${given}\r\n`, () => `\r\n${name}: ${value.padEnd(given.length)}\r\n`)
  }
  first.data = data
}

/** Reports the error of a destroyed request in its agent's queue. Node would wait for a connection, perhaps forever. */
function failQueued(request: ClientRequest, error: Error): void {
  const place = request.closed ? undefined : placeInQueue(request)
  if (place === undefined) return
  const { queues, name, index } = place
  queues[name]!.splice(index, 1)
  if (queues[name]!.length === 0) delete queues[name]
  emitError(request, error)
}

/**
 * Reports the error of a destroyed request that has no connection yet: a proxy agent may take long, or never open one.
 * If a connection is opened within two turns of the loop, Node reports the error itself.
 */
function failWithoutSocket(request: ClientRequest, error: Error): void {
  const failNow = (): void => {
    if (request.closed || request.socket != null) return
    request.onSocket = (socket?: Socket | null) => void socket?.destroy()
    emitError(request, error)
  }
  setImmediate(() => setImmediate(failNow))
}

function emitError(request: ClientRequest, error: Error): void {
  nextTick(() => {
    request.emit('error', error)
    request.emit('close')
  })
}

type Queues = Record<string, ClientRequest[]>

/** Where a request waits for a free connection of its agent; undefined when it does not wait. */
function placeInQueue(request: ClientRequest): { queues: Queues; name: string; index: number } | undefined {
  const { agent } = request as { agent?: Agent }
  if (request.socket != null || agent?.requests === undefined) return undefined
  const queues = agent.requests as Queues
  for (const [name, queue] of Object.entries(queues)) {
    const index = queue.indexOf(request)
    if (index >= 0) return { queues, name, index }
  }
  return undefined
}
