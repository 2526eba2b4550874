/** A raw HTTP/2 stream as a request, by the names that node:http has, for the gate, the operator's functions and observers. */
import type { IncomingMessage } from 'node:http'
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { throughToStream } from './through-to-stream.ts'

/** The arguments of a server's 'stream' event. */
export type StreamEvent = readonly [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders?: readonly string[],
]

export class StreamRequest {
  readonly httpVersion = '2.0'
  readonly httpVersionMajor = 2
  readonly httpVersionMinor = 0
  readonly event: StreamEvent
  readonly socket: SocketFacts

  constructor(event: StreamEvent) {
    const [stream] = event
    this.event = event
    this.socket = socketOf(stream.session as SessionWithFacts)
    watchCut(stream)
  }

  /** Typed as what the rest of the server knows. */
  static of(event: StreamEvent): IncomingMessage {
    return new StreamRequest(event) as unknown as IncomingMessage
  }

  get stream(): MaybeCut {
    return this.event[0]
  }

  get headers(): IncomingHttpHeaders {
    return this.event[1]
  }

  get rawHeaders(): readonly string[] {
    return this.event[3] ?? []
  }

  get method(): string {
    return this.headers[':method'] ?? ''
  }

  get url(): string {
    return this.headers[':path'] ?? ''
  }

  /** All of it has come, read or not. */
  get complete(): boolean {
    const { stream } = this
    return stream[CUT] !== true && hasEnded(stream)
  }

  /**
   * Nobody listens to a stream that waits: an error of its client's would end the process, and its trailers would be
   * missed. Its data waits in it. Returns what lets it go on.
   */
  hold(): () => void {
    const { stream } = this
    let trailers: unknown[] | undefined
    const keep = (...told: unknown[]): void => {
      trailers = told
    }
    stream.on('error', ignore).on('trailers', keep)
    return () => {
      stream.off('error', ignore).off('trailers', keep)
      if (trailers !== undefined) process.nextTick(() => stream.emit('trailers', ...trailers!))
    }
  }
}

throughToStream(StreamRequest.prototype, [
  'on',
  'once',
  'off',
  'removeListener',
  'listeners',
  'listenerCount',
  'push',
  'destroy',
  'destroyed',
  'readableFlowing',
  'readableLength',
  'readableEnded',
])

const ignore = (): void => {}
const CUT: unique symbol = Symbol('meltproof.cut')
const CUT_BY: unique symbol = Symbol('meltproof.cutBy')
type MaybeCut = ServerHttp2Stream & {
  [CUT]?: boolean
  [CUT_BY]?: 'client' | 'connection' | 'app'
  readonly _readableState?: { readonly ended?: boolean }
}

/** So that it is known later who ended the stream before its answer was complete. */
export function watchCut(stream: ServerHttp2Stream): void {
  stream.on('aborted', noteCut)
}

/**
 * The stream ends, and its answer is not complete. After this Node lets what has come so far look complete. Node closes a
 * stream that its client has reset before it destroys it; the app's `destroy()` comes first.
 */
function noteCut(this: MaybeCut): void {
  this[CUT] = !hasEnded(this)
  if (connectionHasGone(this)) this[CUT_BY] = 'connection'
  else this[CUT_BY] = this.destroyed ? 'app' : 'client'
}

export function isCutByApp(stream: MaybeCut): boolean {
  return stream[CUT_BY] === 'app'
}

/** The connection had gone before the app ended the stream. */
export function isDisconnected(stream: MaybeCut): boolean {
  return stream[CUT_BY] === 'connection'
}

function connectionHasGone({ session }: ServerHttp2Stream): boolean {
  try {
    return session === undefined || session.destroyed || session.socket.destroyed
  } catch {
    return true // a session without its socket throws
  }
}

function hasEnded({ _readableState: state, readableEnded }: MaybeCut): boolean {
  return state?.ended === true || readableEnded
}

/** Of the connection, as it was with its first stream: the socket of a session that has ended throws at every question. */
interface SocketFacts {
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  readonly localAddress: string | undefined
  readonly localPort: number | undefined
  readonly server: unknown
  /** Absent without TLS: observers ask whether it is there. */
  readonly encrypted?: true
}

const FACTS = Symbol('meltproof.socket')
type SessionWithFacts = ServerHttp2Session & { [FACTS]?: SocketFacts }

function socketOf(session: SessionWithFacts): SocketFacts {
  session[FACTS] ??= factsOf(session)
  return session[FACTS]
}

function factsOf({ socket, encrypted }: ServerHttp2Session): SocketFacts {
  const { remoteAddress, remotePort, localAddress, localPort, server } = socket as Socket & { server?: unknown }
  const facts = { remoteAddress, remotePort, localAddress, localPort, server }
  return encrypted === true ? { ...facts, encrypted } : facts
}
