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
import { now } from '../clock.ts'
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

type Request = ClientRequest & { [CARRIER]?: RequestCarrier; [HELD]?: (() => void) | undefined; agent?: Agent }
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
    if (limits === undefined || limits === false || !limits.adaptive) go()
    else {
      request[HELD] = go
      // Releases the request at the latest here, because Node may never announce it.
      nextTick(letGo, request)
    }
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

/** The parent of a TLS handle is the handle of its connection. */
type Handle = { readonly writeQueueSize?: number; readonly _parent?: Handle | null }

/** How long a request that was seen in a queue counts as queued, ms. */
const MARKED_MS = 100

class RequestCarrier implements Carrier {
  readonly #request: Request
  call: Call | undefined
  #response: IncomingMessage | undefined
  /** True while the request is held back from its agent. */
  #waits = false
  /** When the request was last seen in a queue of its agent. Undefined costs less than a number. */
  #queuedAtMs: number | undefined = undefined
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
    if (this.call?.ended !== false) return
    const { res } = this.#request as { res?: IncomingMessage | null }
    // 'http.client.response.finish' is not published for upgrades, so their answer is noted here.
    if (res != null && this.#response === undefined) this.call.answered(res.statusCode, res.rawHeaders)
    this.call.end(this.#response?.complete === false ? new Error('aborted') : undefined)
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

  fail(error: Error, queued: boolean): void {
    this.call?.fail(error, queued)
    const request = this.#request
    const response = this.#response
    for (const emitter of [request, response, request.socket])
      if (emitter != null) keepFromEndingProcess(emitter, error)
    if (response !== undefined) {
      // Ends the body as a broken connection does, but with this error, because Node's ECONNRESET gives no reason.
      const { destroy } = response
      const value = (): IncomingMessage => destroy.call(response, error)
      Object.defineProperty(response, 'destroy', { value, configurable: true, writable: true })
      if (request.socket != null) request.socket.destroy(error)
      else response.destroy()
    } else {
      request.destroy(error)
      if (this.#waits) emitError(request, error)
      else if (request.socket == null && !failQueued(request, error)) failWithoutSocket(request, error)
    }
  }

  progress(): CallProgress {
    const request = this.#request
    const { socket } = request
    if (socket == null) {
      const queued = this.#waits || this.#isQueued()
      return { queued, paused: false, awaitingCaller: false, sentBytes: 0 }
    }
    const unsent = socket.writableLength
    // All of a large write is unsent until it ends. Only the innermost handle shows how much the kernel has taken.
    let handle = (socket as { _handle?: Handle | null })._handle
    while (handle?._parent != null) handle = handle._parent
    const sentBytes = socket.bytesWritten - unsent - (handle?.writeQueueSize ?? 0) - this.#sentBefore
    const awaitingCaller = !request.writableEnded && unsent === 0
    return { queued: false, paused: socket.isPaused(), awaitingCaller, sentBytes }
  }

  /** A search marks all requests in the queues, because 100,000 of them may ask in the same turn. */
  #isQueued(): boolean {
    const nowMs = now()
    if (nowMs - (this.#queuedAtMs ?? Number.NEGATIVE_INFINITY) < MARKED_MS) return true
    const queued = queuesOf(this.#request.agent).flatMap(([, , requests]) => requests.map(each => each?.[CARRIER]))
    for (const carrier of queued) if (carrier !== undefined) carrier.#queuedAtMs = nowMs
    return this.#queuedAtMs === nowMs
  }

  gotSocket(socket: Socket): void {
    const { call } = this
    const request = this.#request as Request & { upgradeOrConnect?: boolean }
    if (call?.statesTooMuch) this.#writeFields(call)
    // Node emits this just before 'connect' or 'upgrade', where `tunnel` removes all listeners of the request.
    if (request.listenerCount('connect') + request.listenerCount('upgrade') > 0)
      this.#onceUntilClosed(socket, 'agentRemove', () => request.upgradeOrConnect === true && this.closed())
    if (!socket.connecting && (socket as { secureConnecting?: boolean }).secureConnecting !== true) {
      this.#connected(socket, false)
      return
    }
    this.call?.connecting()
    // A connecting TLSSocket emits 'secureConnect' once it can be used.
    const event = 'encrypted' in socket ? 'secureConnect' : 'connect'
    this.#onceUntilClosed(socket, event, () => this.#connected(socket, true))
  }

  #onceUntilClosed(socket: Socket, event: string, listener: () => void): void {
    socket.once(event, listener)
    this.#request.once('close', () => socket.removeListener(event, listener))
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

/** If the agent has queued a destroyed request, removes it and reports its error. Node might never report it. */
function failQueued(request: Request, error: Error): boolean {
  const queues = request.closed || request.socket != null ? [] : queuesOf(request.agent)
  const found = queues.find(([, , requests]) => requests.includes(request))
  if (found === undefined) return false
  const [name, queue, requests] = found
  queue.splice(requests.indexOf(request), 1)
  if (queue.length === 0) delete (request.agent!.requests as Record<string, unknown>)[name]
  emitError(request, error)
  return true
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

/** The queues of waiting requests. Agents of `tunnel` and `tunnel-agent` have one queue; its entries hold requests. */
function queuesOf(agent: Agent | undefined): [name: string, queue: unknown[], requests: (Request | undefined)[]][] {
  const queues: unknown = agent?.requests ?? {}
  if (Array.isArray(queues)) return [['', queues, queues.map(entry => entry?.request)]]
  const lists = Object.entries(queues as object).filter(([, queue]) => Array.isArray(queue))
  return lists.map(([name, queue]) => [name, queue, queue])
}
