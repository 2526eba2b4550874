/**
 * What a begun response shows of itself at a look: whether it was written, and whether its handler waits for its client.
 * HTTP/1 responses tell by their socket. An HTTP/2 stream counts what is written to it from its first look on.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Announced, Look } from '../../admission/in-service/streams.ts'
import type { Exchange } from '../request/exchange.ts'
import { hasReader } from '../request/body-readers.ts'
import { sizeOf } from '../response/chunk-size.ts'

interface Response extends ServerResponse {
  /** Head of an HTTP/1 response as Node keeps it; what writeHead() was given is nowhere else. */
  readonly _header?: string | null
  /** Of HTTP/2 alone. */
  readonly stream?: ServerHttp2Stream
}

/** Not the shadow of one that is over; and when the client has gone, what goes on is the handler. */
export function streams({ response, shadowMs, abandoned }: Exchange): boolean {
  return response?.headersSent === true && !abandoned && (shadowMs === undefined || shadowMs < 0)
}

/** The handler has ended it, and the rest is up to its client. */
export function hasEnded(response: Response): boolean {
  return (response.stream ?? response).writableEnded
}

export function isFinished(response: Response): boolean {
  return (response.stream ?? response).writableFinished
}

export function announced(response: Response): Announced {
  const { _header: head, stream } = response
  if (typeof head === 'string') {
    if (/^content-type: *text\/event-stream/im.test(head)) return 'events'
    return /^content-(?:length:|type: *text\/html)/im.test(head) ? 'finite' : 'neither'
  }
  const fields: OutgoingHttpHeaders = stream?.sentHeaders ?? {}
  const type = String(fields['content-type']).toLowerCase()
  if (type.startsWith('text/event-stream')) return 'events'
  return type.startsWith('text/html') || fields['content-length'] !== undefined ? 'finite' : 'neither'
}

export class StreamProbe {
  readonly #request: Exchange['request']
  readonly #response: Response
  #given = 0
  #counted = 0
  #toldToWait = false
  /** The handler wrote on before its client had taken what there was: it does not wait for it. */
  #heedless = false

  constructor(request: Exchange['request'], response: Response) {
    this.#request = request
    this.#response = response
    if (response.stream !== undefined) this.#count(response.stream)
    this.look()
  }

  look(): Look {
    const given = this.#givenBytes()
    const { writableLength, writableNeedDrain } = this.#response.stream ?? this.#response
    const moved = given !== this.#given
    if (this.#toldToWait && moved && given - writableLength < this.#given) this.#heedless = true
    this.#given = given
    this.#toldToWait = writableNeedDrain
    const waits = (writableNeedDrain && !this.#heedless) || (!moved && waitsForBody(this.#request))
    return { moved, waits }
  }

  #givenBytes(): number {
    const { socket, stream, writableLength } = this.#response
    if (stream !== undefined) return this.#counted
    // Pipelined behind another it gets the socket later.
    return socket == null ? writableLength : socket.bytesWritten + writableLength - socket.writableLength
  }

  #count(stream: ServerHttp2Stream): void {
    const { write } = stream
    this.#counted = stream.writableLength
    stream.write = (...given: [chunk: unknown, ...rest: unknown[]]): boolean => {
      this.#counted += sizeOf(given[0], given[1])
      return write.apply(stream, given as unknown as Parameters<typeof write>)
    }
  }
}

/**
 * Its handler waits until more of the body comes. One that only lets the body flow, with nobody to take it, waits for
 * something else; and a body that is not read, or read slowly, is not the client's doing.
 */
export function waitsForBody(request: Exchange['request'] & { _readableState?: { ended?: boolean } }): boolean {
  if (request.complete || request.readableFlowing === null || request.readableLength > 0) return false
  // HTTP/2 says complete only when all was read.
  return request._readableState?.ended !== true && hasReader(request)
}
