/**
 * Records every HTTP call this process makes, of `fetch` and undici, and of `node:http` and all that is built on it,
 * from the diagnostics channels these publish themselves: whether or not meltproof/outbound bounds them.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { normalOrigin, originOf } from '../origin.ts'
import { rawHeader } from '../raw-headers.ts'
import { RecordedCall } from '../recorded-call.ts'

const underWay = new WeakMap<object, RecordedCall>()
/** Sockets that have carried a call: the next one on them does not wait for a connection to be made. */
const used = new WeakSet<object>()

const CHANNELS: readonly (readonly [name: string, listener: (message: unknown) => void])[] = [
  ['undici:request:create', guarded(onUndiciCreate)],
  ['undici:client:sendHeaders', guarded(onUndiciSend)],
  ['undici:request:bodySent', guarded(onUndiciBodySent)],
  ['undici:request:headers', guarded(onUndiciHeaders)],
  ['undici:request:trailers', guarded(onUndiciTrailers)],
  ['undici:request:error', guarded(onUndiciError)],
  ['http.client.request.created', guarded(onHttpCreated)],
  ['http.client.request.start', guarded(onHttpStart)],
  ['http.client.response.finish', guarded(onHttpResponse)],
  ['http.client.request.error', guarded(onHttpError)],
]

/** Records calls until the returned function is called. */
export function recordHttpCalls(): () => void {
  for (const [name, listener] of CHANNELS) subscribe(name, listener)
  return () => {
    for (const [name, listener] of CHANNELS) unsubscribe(name, listener)
  }
}

function begin(request: object, origin: string, method: string): RecordedCall {
  const call = new RecordedCall('http', origin, method)
  underWay.set(request, call)
  return call
}

// fetch and undici ------------------------------------------------------------------------------------------------

interface UndiciMessage {
  readonly request: { readonly origin?: string | URL; readonly method?: string }
}

interface UndiciResponse {
  readonly statusCode: number
  readonly headers: readonly unknown[]
}

function onUndiciCreate({ request }: UndiciMessage): void {
  begin(request, normalOrigin(request.origin) ?? 'unknown', request.method ?? 'GET')
}

function onUndiciSend({ request, socket }: UndiciMessage & { readonly socket: Socket }): void {
  underWay.get(request)?.sent(used.has(socket) ? 'turn' : 'connection')
  used.add(socket)
}

function onUndiciBodySent({ request }: UndiciMessage): void {
  underWay.get(request)?.bodySent()
}

function onUndiciHeaders({ request, response }: UndiciMessage & { readonly response: UndiciResponse }): void {
  if (response.statusCode < 200) return
  underWay.get(request)?.answered(response.statusCode, rawHeader(response.headers, 'server-timing'))
}

function onUndiciTrailers({ request }: UndiciMessage): void {
  underWay.get(request)?.end()
}

function onUndiciError({ request, error }: UndiciMessage & { readonly error: unknown }): void {
  underWay.get(request)?.end(error ?? new Error('failed'))
}

// node:http ---------------------------------------------------------------------------------------------------------

interface HttpMessage {
  readonly request: ClientRequest
}

function onHttpCreated({ request }: HttpMessage): void {
  begin(request, originOf(request), request.method)
}

/** The whole request has been given to the socket, which may still be connecting. */
function onHttpStart({ request }: HttpMessage): void {
  const call = underWay.get(request) ?? begin(request, originOf(request), request.method)
  const { socket } = request
  if (socket?.connecting !== true) call.sent(request.reusedSocket ? 'turn' : 'caller')
  else socket.once(request.protocol === 'https:' ? 'secureConnect' : 'connect', () => call.sent('connection'))
}

function onHttpResponse({ request, response }: HttpMessage & { readonly response: IncomingMessage }): void {
  const call = underWay.get(request)
  if (call === undefined) return
  const { 'server-timing': serverTiming } = response.headers
  call.answered(response.statusCode, typeof serverTiming === 'string' ? serverTiming : serverTiming?.join(', '))
  response.once('end', () => call.end())
  // Nobody has to read an answer: then the connection's end is the end of the call.
  response.once('close', () => call.end(response.complete ? undefined : new Error('aborted')))
}

function onHttpError({ request, error }: HttpMessage & { readonly error: unknown }): void {
  underWay.get(request)?.end(error ?? new Error('failed'))
}

/** A client whose messages have changed is not observed, and does not fail because of us. */
function guarded<T>(listener: (message: T) => void): (message: unknown) => void {
  return message => {
    try {
      listener(message as T)
    } catch {}
  }
}
