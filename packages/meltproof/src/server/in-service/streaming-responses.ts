/**
 * Observes a response that has begun: whether its handler writes, and whether its handler waits for its client. For
 * HTTP/1 the socket shows both. For an HTTP/2 stream, writes are counted from {@link probeOf} on.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Announced, Look } from '../../admission/in-service/streams.ts'
import type { Exchange } from '../request/exchange.ts'
import { hasReader } from '../request/body-readers.ts'
import { streamOf } from '../request/is-http2.ts'
import { sizeOf } from '../response/chunk-size.ts'

interface Response extends ServerResponse {
  /** Node's copy of the HTTP/1 head. Headers given to writeHead() are stored nowhere else. */
  readonly _header?: string | null
}

/** True if the answer has begun; false after the client has left and, in a dry run, after the handler has ended. */
export function isStreaming({ response, shadowMs, abandoned }: Exchange): boolean {
  return response?.headersSent === true && !abandoned && (shadowMs === undefined || shadowMs < 0)
}

/** True if the handler has ended the response; sending the rest depends on the client. */
export function hasEnded(response: Response): boolean {
  return (streamOf(response) ?? response).writableEnded
}

export function isFinished(response: Response): boolean {
  return (streamOf(response) ?? response).writableFinished
}

export function announced(response: Response): Announced {
  const { _header: head } = response
  if (typeof head === 'string') {
    if (/^content-type: *text\/event-stream/im.test(head)) return 'events'
    return /^content-(?:length:|type: *text\/html)/im.test(head) ? 'finite' : 'neither'
  }
  const fields: OutgoingHttpHeaders = streamOf(response)?.sentHeaders ?? {}
  const type = String(fields['content-type']).toLowerCase()
  if (type.startsWith('text/event-stream')) return 'events'
  return type.startsWith('text/html') || fields['content-length'] !== undefined ? 'finite' : 'neither'
}

/**
 * For a response that has begun: returns a function that reports whether the handler has written since the last call,
 * and whether the handler waits for its client.
 */
export function probeOf(request: Exchange['request'], response: Response): () => Look {
  const stream = streamOf(response)
  let counted = 0
  let givenBefore = 0
  let toldToWait = false
  /** True if the handler wrote more before its client had received earlier data: it does not wait for the client. */
  let heedless = false
  const givenBytes = (): number => {
    if (stream !== undefined) return counted
    const { socket, writableLength } = response
    // A pipelined response gets its socket later.
    return socket == null ? writableLength : socket.bytesWritten + writableLength - socket.writableLength
  }
  const look = (): Look => {
    const given = givenBytes()
    const { writableLength, writableNeedDrain } = stream ?? response
    const moved = given !== givenBefore
    if (toldToWait && moved && given - writableLength < givenBefore) heedless = true
    givenBefore = given
    toldToWait = writableNeedDrain
    const waits = (writableNeedDrain && !heedless) || (!moved && waitsForBody(request))
    return { moved, waits }
  }
  if (stream !== undefined) {
    const { write } = stream
    counted = stream.writableLength
    stream.write = (...given: [chunk: unknown, ...rest: unknown[]]): boolean => {
      counted += sizeOf(given[0], given[1])
      return write.apply(stream, given as unknown as Parameters<typeof write>)
    }
  }
  look()
  return look
}

/**
 * True when the handler waits for more of the request body. A handler that lets the body flow without reading it waits
 * for something else. A body that the handler does not read, or reads slowly, is not the client's fault.
 */
export function waitsForBody(request: Exchange['request'] & { _readableState?: { ended?: boolean } }): boolean {
  if (request.complete || request.readableFlowing === null || request.readableLength > 0) return false
  // In HTTP/2 `complete` becomes true only after everything was read.
  return request._readableState?.ended !== true && hasReader(request)
}
