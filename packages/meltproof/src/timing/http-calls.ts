/**
 * Notes every HTTP call this process makes: of `fetch` and undici, and of `node:http` and all that is built on it,
 * from the diagnostics channels these publish themselves. So calls have verdicts whether or not meltproof/outbound
 * bounds them; nobody who bounds a call needs to note it too.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { calls } from '../channels.ts'
import { now } from '../clock.ts'
import type { OutboundOutcome, OutboundRecord } from '../record.ts'
import { callBegins, callEnds, type Scope } from '../scope.ts'

/** A call on its way. */
interface Noted {
  readonly peer: string
  readonly operation: string
  readonly startedAtMs: number
  readonly scope: Scope | undefined
  queuedMs: number
  connectMs: number | undefined
  sentAtMs: number | undefined
  firstByteAtMs: number | undefined
  status: number | undefined
  serverTiming: string | undefined
  over: boolean
}

/** As far as we rely on undici's request. */
interface UndiciRequest {
  readonly origin?: string | URL
  readonly method?: string
}

/** Waiting for a connection shorter than this is not a queue, ms. */
const NO_QUEUE_MS = 0.5

const noted = new WeakMap<object, Noted>()
/** Sockets that have carried a call: the next one on them has no connecting to do. */
const known = new WeakSet<object>()

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

export function noteHttpCalls(): () => void {
  for (const [name, listener] of CHANNELS) subscribe(name, listener)
  return () => {
    for (const [name, listener] of CHANNELS) unsubscribe(name, listener)
  }
}

function note(key: object, peer: string, operation: string): Noted {
  const call: Noted = {
    peer,
    operation,
    startedAtMs: now(),
    scope: callBegins(),
    queuedMs: 0,
    connectMs: undefined,
    sentAtMs: undefined,
    firstByteAtMs: undefined,
    status: undefined,
    serverTiming: undefined,
    over: false,
  }
  noted.set(key, call)
  return call
}

function end(call: Noted | undefined, error?: unknown): void {
  if (call === undefined || call.over) return
  call.over = true
  callEnds(call.scope)
  if (!calls.hasSubscribers) return
  const { over: _, ...facts } = call
  const record: OutboundRecord = {
    kind: 'http',
    ...facts,
    outcome: error === undefined ? 'answered' : outcomeOf(error),
    errorCode: error === undefined ? undefined : codeOf(error),
    phase: textOf(error, 'phase'),
    endedAtMs: now(),
    answerLay: undefined,
    retries: 0,
  }
  calls.publish(record)
}

// fetch and undici ------------------------------------------------------------------------------------------------

type UndiciMessage = { readonly request: UndiciRequest }

function onUndiciCreate({ request }: UndiciMessage): void {
  note(request, peerOf(request.origin), request.method ?? 'GET')
}

/** The head goes out. On a socket that is new the wait was for it, otherwise for its turn. */
function onUndiciSend({ request, socket }: UndiciMessage & { readonly socket: Socket }): void {
  const call = noted.get(request)
  if (call === undefined) return
  const nowMs = now()
  const waitedMs = nowMs - call.startedAtMs
  if (known.has(socket)) {
    call.connectMs = 0
    call.queuedMs = waitedMs > NO_QUEUE_MS ? waitedMs : 0
  } else {
    known.add(socket)
    call.connectMs = waitedMs
  }
  call.sentAtMs = nowMs
}

function onUndiciBodySent({ request }: UndiciMessage): void {
  const call = noted.get(request)
  if (call !== undefined && call.firstByteAtMs === undefined) call.sentAtMs = now()
}

interface UndiciResponse {
  readonly statusCode: number
  readonly headers: readonly unknown[]
}

function onUndiciHeaders({ request, response }: UndiciMessage & { readonly response: UndiciResponse }): void {
  const call = noted.get(request)
  if (call === undefined || response.statusCode < 200) return
  call.firstByteAtMs = now()
  call.status = response.statusCode
  call.serverTiming = rawHeader(response.headers)
}

function onUndiciTrailers({ request }: UndiciMessage): void {
  end(noted.get(request))
}

function onUndiciError({ request, error }: UndiciMessage & { readonly error: unknown }): void {
  end(noted.get(request), error ?? new Error('failed'))
}

// node:http ---------------------------------------------------------------------------------------------------------

type HttpMessage = { readonly request: ClientRequest }

function onHttpCreated({ request }: HttpMessage): void {
  note(request, originOf(request), request.method)
}

/** The whole request has been given to the socket, which may still be connecting. */
function onHttpStart({ request }: HttpMessage): void {
  const call = noted.get(request) ?? note(request, originOf(request), request.method)
  const { socket } = request
  const nowMs = now()
  if (socket === null || !socket.connecting) {
    call.connectMs = 0
    const waitedMs = nowMs - call.startedAtMs
    if (request.reusedSocket && waitedMs > NO_QUEUE_MS) call.queuedMs = waitedMs
    call.sentAtMs = nowMs
    return
  }
  socket.once(request.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
    call.connectMs = now() - call.startedAtMs
    call.sentAtMs = now()
  })
}

function onHttpResponse({ request, response }: HttpMessage & { readonly response: IncomingMessage }): void {
  const call = noted.get(request)
  if (call === undefined) return
  call.firstByteAtMs = now()
  call.status = response.statusCode
  const { 'server-timing': serverTiming } = response.headers
  call.serverTiming = typeof serverTiming === 'string' ? serverTiming : serverTiming?.join(', ')
  response.once('end', () => end(call))
  // Nobody has to read an answer: then the connection's end is the end of the call.
  response.once('close', () => end(call, response.complete ? undefined : new Error('aborted')))
}

function onHttpError({ request, error }: HttpMessage & { readonly error: unknown }): void {
  end(noted.get(request), error)
}

function originOf(request: ClientRequest): string {
  const { host, protocol } = request
  const header = request.getHeader('host')
  return `${protocol}//${typeof header === 'string' ? header : host}`
}

// What they say -----------------------------------------------------------------------------------------------------

function peerOf(origin: string | URL | undefined): string {
  if (typeof origin === 'string') return origin
  return origin === undefined ? 'unknown' : origin.origin
}

const SERVER_TIMING = 'server-timing'

/** Raw headers: name, value, name, value; Buffers, or strings in some versions. */
function rawHeader(headers: readonly unknown[]): string | undefined {
  let found: string | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as { readonly length: number }
    if (name.length !== SERVER_TIMING.length || String(name).toLowerCase() !== SERVER_TIMING) continue
    found = found === undefined ? String(headers[i + 1]) : `${found}, ${String(headers[i + 1])}`
  }
  return found
}

const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  'MELTPROOF_DEADLINE_EXCEEDED',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
])

function outcomeOf(error: unknown): OutboundOutcome {
  if (TIMEOUT_CODES.has(codeOf(error) ?? '') || textOf(error, 'name') === 'TimeoutError') return 'timeout'
  if (textOf(error, 'name') === 'AbortError') return 'aborted'
  return 'failed'
}

/** Happy Eyeballs fails with an AggregateError, whose reasons have the code. */
function codeOf(error: unknown): string | undefined {
  const own = textOf(error, 'code')
  if (own !== undefined) return own
  const inner = (error as { errors?: unknown[]; cause?: unknown } | undefined)?.errors?.[0]
  return inner === undefined ? undefined : textOf(inner, 'code')
}

function textOf(value: unknown, key: string): string | undefined {
  const text = (value as Record<string, unknown> | null | undefined)?.[key]
  return typeof text === 'string' ? text : undefined
}

/** What we only watch must not fail because of us. */
function guarded<T>(listener: (message: T) => void): (message: unknown) => void {
  return message => {
    try {
      listener(message as T)
    } catch {
      // A client whose messages have changed is not observed; its calls are none of our business.
    }
  }
}
