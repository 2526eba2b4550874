/** Presents a raw HTTP/2 stream with node:http's names, for the gate, the operator's functions and observers. */
import type { Server } from 'node:http'
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { quietly } from '../../warnings.ts'

/** The arguments of a server's 'stream' event. */
type StreamEvent = readonly [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders?: readonly string[],
]

/**
 * Recognises the streams of an HTTP/2 server that the app handles raw. Node turns the other streams into requests.
 * `args` are those of a 'stream' event. Apps may emit the event themselves, with any arguments.
 */
export function isRawStream(server: Server, args: unknown[]): args is [...StreamEvent] {
  try {
    const [stream, headers] = args as [...StreamEvent]
    // If the app listens for requests, Node itself adds a listener for streams.
    const nodesOwn = server.listenerCount('request') > 0 ? 1 : 0
    if (server.listenerCount('stream') <= nodesOwn) return false
    if (typeof stream.respond !== 'function' || stream.destroyed || stream.session?.destroyed !== false) return false
    // A CONNECT tunnel is not a request; the gate does not see those of HTTP/1 either.
    return headers[':method'] !== 'CONNECT'
  } catch {
    return false
  }
}

export class StreamRequest {
  readonly httpVersion = '2.0'
  readonly httpVersionMajor = 2
  readonly httpVersionMinor = 0
  readonly event: StreamEvent
  readonly socket: SocketFacts

  constructor(event: StreamEvent) {
    const [stream] = event
    this.event = event
    const session = stream.session as SessionWithFacts
    session[FACTS] ??= factsOf(session)
    this.socket = session[FACTS]
    watchCut(stream)
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

  /** True when the whole body has arrived, read or not. */
  get complete(): boolean {
    const { stream } = this
    return stream[CUT] !== true && hasEnded(stream)
  }

  /**
   * Listens on a stream that waits, because the app has added no listeners yet: without any, an error of the client
   * would end the process, and trailers would be lost. Data waits in the stream. The returned function undoes this and
   * emits the trailers.
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
  ...['on', 'once', 'off', 'removeListener', 'listeners', 'listenerCount'],
  ...['push', 'destroy', 'destroyed', 'readableFlowing', 'readableLength', 'readableEnded'],
])

/** Forwards members of `prototype` to its raw stream: reads, calls and replacements. Methods are bound to it. */
export function throughToStream(prototype: { readonly stream: ServerHttp2Stream }, names: readonly string[]): void {
  for (const name of names) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      get(this: { readonly stream: Members }): unknown {
        const { stream } = this
        const member = stream[name]
        return typeof member === 'function' ? member.bind(stream) : member
      },
      set(this: { readonly stream: Members }, member: unknown) {
        this.stream[name] = member
      },
    })
  }
}

type Members = Record<string, unknown>

const ignore = (): void => {}
const CUT: unique symbol = Symbol('meltproof.cut')
const CUT_BY: unique symbol = Symbol('meltproof.cutBy')
type MaybeCut = ServerHttp2Stream & {
  [CUT]?: boolean
  [CUT_BY]?: 'client' | 'connection' | 'app'
  readonly _readableState?: { readonly ended?: boolean }
}

/** Records which side ended the stream, if it ends before its answer is complete. */
export function watchCut(stream: ServerHttp2Stream): void {
  stream.on('aborted', noteCut)
}

/**
 * Must run at 'aborted': later Node makes a partial request body look complete. When a client resets a stream, Node
 * closes the stream before destroying it. So the app destroyed a stream that is already destroyed here.
 */
function noteCut(this: MaybeCut): void {
  this[CUT] = !hasEnded(this)
  if (connectionHasGone(this)) this[CUT_BY] = 'connection'
  else this[CUT_BY] = this.destroyed ? 'app' : 'client'
}

export function isCutByApp(stream: MaybeCut): boolean {
  return stream[CUT_BY] === 'app'
}

/** True if the connection was lost before the app ended the stream. */
export function isDisconnected(stream: MaybeCut): boolean {
  return stream[CUT_BY] === 'connection'
}

function connectionHasGone({ session }: ServerHttp2Stream): boolean {
  // Reading `session.socket` throws when the session has no socket.
  return quietly(() => session === undefined || session.destroyed || session.socket.destroyed) ?? true
}

function hasEnded({ _readableState: state, readableEnded }: MaybeCut): boolean {
  return state?.ended === true || readableEnded
}

/** Facts about the connection, read at its first stream: later its socket may throw at every access. */
interface SocketFacts {
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  readonly localAddress: string | undefined
  readonly localPort: number | undefined
  readonly server: unknown
  /** Absent without TLS, because observers check for presence. */
  readonly encrypted?: true
}

const FACTS = Symbol('meltproof.socket')
type SessionWithFacts = ServerHttp2Session & { [FACTS]?: SocketFacts }

function factsOf({ socket, encrypted }: ServerHttp2Session): SocketFacts {
  const { remoteAddress, remotePort, localAddress, localPort, server } = socket as Socket & { server?: unknown }
  const facts = { remoteAddress, remotePort, localAddress, localPort, server }
  return encrypted === true ? { ...facts, encrypted } : facts
}
