import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isHttp2, streamOf } from '../request/is-http2.ts'
import { StreamResponse } from './stream-response.ts'

/** Once meltproof has answered, makes the response ignore its handler without errors, as if the client had left. */
export function mute(request: IncomingMessage, response: ServerResponse | StreamResponse): void {
  if (response instanceof StreamResponse) {
    Object.assign(response.stream, MUTED_STREAM)
    closesForLateListeners(response.stream)
    return
  }
  Object.assign(response, MUTED)
  // A handler may answer on the stream itself.
  Object.assign(streamOf(response) ?? {}, ANSWERED_STREAM)
  response.once('close', () => looksUnfinished(response))
  closesForLateListeners(response)
  closesForLateListeners(request)
  if (!isHttp2(request)) leaveSocket(request, response)
}

/**
 * The handler must not close the connection, which may carry the next request soon. Express's default error handler
 * destroys the socket of a request that fails after it was answered, and an aborted pipeline() destroys its response.
 */
function leaveSocket(request: IncomingMessage & { client?: unknown }, response: ServerResponse): void {
  // Node takes the socket from a request whose body a handler stops reading.
  const socket = request.socket as Socket | null
  if (socket === null) return
  request.socket = closedFor(socket)
  request.client = request.socket
  const { destroy } = response
  response.destroy = error => (socket.destroyed ? destroy.call(response, error) : response)
}

/** Returns the socket in a proxy that looks closed. */
function closedFor(socket: Socket): Socket {
  const closed: Socket = new Proxy(socket, {
    get(_, name) {
      if (Object.hasOwn(CLOSED_SOCKET, name)) return CLOSED_SOCKET[name as keyof typeof CLOSED_SOCKET]
      const value: unknown = Reflect.get(socket, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, socket, args)
        return result === socket ? closed : result
      }
    },
    set: (_, name, value) => Reflect.set(socket, name, value),
  })
  return closed
}

/**
 * Makes a pipeline() that begins only now fail, like one to a client that has left. A pipeline that began earlier waits
 * for 'drain' if a write returns false, and would wait for ever.
 */
function looksUnfinished(response: ServerResponse): void {
  Object.defineProperty(response, 'writableFinished', { value: false, configurable: true })
  if (response.listenerCount('drain') === 0) response.write = failsToWrite
}

/** Calls 'close' listeners that are added after the event: a handler that begins to stream late cleans up there. */
function closesForLateListeners(emitter: EventEmitter): void {
  let isClosed = false
  emitter.once('close', () => {
    isClosed = true
  })
  const late = (add: EventEmitter['on']): EventEmitter['on'] =>
    function (this: EventEmitter, name, listener) {
      Reflect.apply(add, this, [name, listener])
      if (isClosed && name === 'close') {
        process.nextTick(() => {
          if (emitter.rawListeners('close').includes(listener)) Reflect.apply(listener, emitter, [])
        })
      }
      return this
    }
  const on = late(emitter.on)
  Object.assign(emitter, { on, addListener: on, prependListener: late(emitter.prependListener) })
}

function nothing(this: unknown): unknown {
  return this
}

function callBack(args: readonly unknown[]): void {
  const callback = args.find(arg => typeof arg === 'function') as (() => void) | undefined
  if (callback !== undefined) process.nextTick(callback)
}

function acceptsNothing(...args: readonly unknown[]): boolean {
  callBack(args)
  return true
}

function failsToWrite(...args: readonly unknown[]): boolean {
  callBack(args)
  return false
}

function endsNothing<T extends EventEmitter>(this: T, ...args: readonly unknown[]): T {
  callBack(args)
  // A pipeline() waits for 'drain', or for the end of the response, which meltproof's answer has caused.
  process.nextTick(() => this.emit('drain'))
  return this
}

function each(names: readonly string[], method: (...args: never[]) => unknown): object {
  return Object.fromEntries(names.map(name => [name, method]))
}

const CLOSED_SOCKET = {
  ...each(['destroy', 'destroySoon', 'resetAndDestroy', 'end'], nothing),
  write: failsToWrite,
  destroyed: true,
}

const ANSWERED_STREAM = each(['respond', 'respondWithFD', 'respondWithFile', 'additionalHeaders'], () => undefined)
const MUTED_STREAM = {
  ...ANSWERED_STREAM,
  sendTrailers: (): undefined => undefined,
  write: acceptsNothing,
  end: endsNothing,
}

const MUTED = {
  ...each(['setHeader', 'setHeaders', 'appendHeader', 'writeHead'], nothing),
  ...each(['removeHeader', 'flushHeaders', 'addTrailers'], () => undefined),
  ...each(['writeContinue', 'writeProcessing', 'writeInformation'], () => undefined),
  ...each(['write', 'writeEarlyHints'], acceptsNothing),
  end: endsNothing,
}
