/**
 * A strict, incremental parser of HTTP/1.1 responses: status, whether the answer is complete and the connection
 * reusable, and the body's length. Guessing could count answers that never arrived, so bare LF, folded headers, spaces
 * before a colon, differing lengths, a Content-Length together with chunks, and bytes after the end are all errors.
 * Pure.
 */
import { Buffer } from 'node:buffer'
import type { AnswerParts } from './answer-parts.ts'

const CR = 13
const LF = 10
const SPACE = 32
const TAB = 9
const COLON = 58

/** RFC 9110 `tchar`: the characters of a header's name. */
const NAME_CHARACTER = new Uint8Array(256)
for (const character of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
  NAME_CHARACTER[character.charCodeAt(0)] = 1
}

/** Longest line (status line, header, chunk size), and the most header bytes, that are accepted as HTTP. */
const LONGEST_LINE = 65_536
const MOST_HEAD_BYTES = 262_144

const TIMEOUT = 'timeout='

const State = {
  statusLine: 0,
  headers: 1,
  body: 2,
  bodyUntilClose: 3,
  chunkSize: 4,
  chunkData: 5,
  chunkEnd: 6,
  trailers: 7,
  done: 8,
  failed: 9,
} as const

export class ResponseParser {
  /** Status of the current answer, 0 before its status line. */
  status = 0
  /** After a complete answer: true if the connection can carry another request. */
  reusable = false
  /** How long the server keeps an idle connection (Keep-Alive: timeout), ms; Infinity if it does not say. */
  keptMs: number = Number.POSITIVE_INFINITY
  /** Bytes of the body so far, without chunk framing. */
  bodyBytes = 0
  fault = ''

  #state: number = State.statusLine
  #headRequest = false
  #parts: AnswerParts | undefined
  #old = false
  #close = false
  #keep = false
  #chunked = false
  #encoded = false
  #length = -1
  #left = 0
  #headBytes = 0
  /** The beginning of a line whose end has not been read yet. */
  #begun: Uint8Array | undefined

  /** Prepares for the answer to a new request. `parts` receives its fields and body. */
  start(headRequest: boolean, parts?: AnswerParts): void {
    this.#headRequest = headRequest
    this.#parts = parts
    this.fault = ''
    this.#begun = undefined
    this.#expectStatusLine()
  }

  get complete(): boolean {
    return this.#state === State.done
  }

  get failed(): boolean {
    return this.#state === State.failed
  }

  /** Parses `bytes[start, end)`. Returns how many of them belong to this answer: all, until its end or a fault. */
  read(bytes: Uint8Array, start: number, end: number): number {
    let at = start
    while (at < end) {
      switch (this.#state) {
        case State.statusLine:
        case State.headers:
        case State.chunkSize:
        case State.chunkEnd:
        case State.trailers:
          at = this.#readLine(bytes, at, end)
          break
        case State.body:
        case State.chunkData: {
          const taken = Math.min(this.#left, end - at)
          this.#parts?.body(bytes.subarray(at, at + taken))
          this.#left -= taken
          this.bodyBytes += taken
          at += taken
          if (this.#left === 0) this.#state = this.#state === State.body ? State.done : State.chunkEnd
          break
        }
        case State.bodyUntilClose:
          this.#parts?.body(bytes.subarray(at, end))
          this.bodyBytes += end - at
          at = end
          break
        default:
          return at - start
      }
    }
    return at - start
  }

  /** The server closed its side. This completes an answer that lasts until close; any other stays incomplete. */
  end(): void {
    if (this.#state === State.bodyUntilClose) this.#state = State.done
  }

  #expectStatusLine(): void {
    this.#state = State.statusLine
    this.status = 0
    this.reusable = false
    this.keptMs = Number.POSITIVE_INFINITY
    this.bodyBytes = 0
    this.#old = false
    this.#close = false
    this.#keep = false
    this.#chunked = false
    this.#encoded = false
    this.#length = -1
    this.#left = 0
    this.#headBytes = 0
  }

  /** The methods below that take a line return an error text, or '' for a valid line. */
  #judge(fault: string): void {
    if (fault === '') return
    this.#state = State.failed
    this.fault = fault
  }

  /** Reads to the end of the line or of the bytes; returns where it stopped. */
  #readLine(bytes: Uint8Array, start: number, end: number): number {
    let at = start
    while (at < end && bytes[at] !== LF) at++
    const begun = this.#begun
    if ((begun?.length ?? 0) + at - start > LONGEST_LINE) {
      this.#judge(`a line longer than ${LONGEST_LINE} bytes`)
      return at
    }
    if (begun === undefined && at < end) {
      this.#judge(this.#line(bytes, start, at))
      return at + 1
    }
    const next = Math.min(at + 1, end)
    // Copies the bytes, because the next read reuses their buffer.
    const line = Buffer.concat([begun ?? new Uint8Array(), bytes.subarray(start, next)])
    this.#begun = at < end ? undefined : line
    if (at < end) this.#judge(this.#line(line, 0, line.length - 1))
    return next
  }

  /** Parses one line, whose LF is at `lf`. */
  #line(bytes: Uint8Array, start: number, lf: number): string {
    const end = lf - 1
    const state = this.#state
    if (end < start || bytes[end] !== CR) {
      const isHttp = state !== State.statusLine || isWord(bytes, start, Math.min(lf, start + 5), 'http/')
      return isHttp ? 'a line that does not end in CR LF' : notHttp(bytes, start, lf)
    }
    if (state === State.chunkSize) return this.#chunkSizeLine(bytes, start, end)
    if (state === State.chunkEnd) {
      if (end !== start) return 'a chunk longer than its size'
      this.#state = State.chunkSize
      return ''
    }
    this.#headBytes += lf + 1 - start
    if (this.#headBytes > MOST_HEAD_BYTES) return `headers longer than ${MOST_HEAD_BYTES} bytes`
    if (state === State.statusLine) return this.#statusLine(bytes, start, end)
    if (end === start) {
      if (state === State.headers) return this.#headersEnd()
      this.#state = State.done
      return ''
    }
    return this.#headerLine(bytes, start, end, state === State.trailers)
  }

  /** Parses `HTTP/1.1 200 OK`; the reason, and the space before it, may be missing. */
  #statusLine(bytes: Uint8Array, start: number, end: number): string {
    const wellFormed =
      end - start >= 12 &&
      bytes[start] === 72 &&
      isWord(bytes, start, start + 7, 'http/1.') &&
      (bytes[start + 7] === 49 || bytes[start + 7] === 48) &&
      bytes[start + 8] === SPACE &&
      isDigit(bytes[start + 9]!) &&
      isDigit(bytes[start + 10]!) &&
      isDigit(bytes[start + 11]!) &&
      (end - start === 12 || bytes[start + 12] === SPACE)
    if (!wellFormed) return notHttp(bytes, start, end)
    const status = (bytes[start + 9]! - 48) * 100 + (bytes[start + 10]! - 48) * 10 + (bytes[start + 11]! - 48)
    if (status < 100) return `status ${status} does not exist`
    this.status = status
    this.#old = bytes[start + 7] === 48
    this.#state = State.headers
    this.#parts?.begin()
    return ''
  }

  #headerLine(bytes: Uint8Array, start: number, end: number, trailer: boolean): string {
    let colon = start
    while (colon < end && NAME_CHARACTER[bytes[colon]!] === 1) colon++
    if (colon === start || colon === end || bytes[colon] !== COLON) {
      return `expected a header, got "${textOf(bytes, start, end)}"`
    }
    for (let at = colon + 1; at < end; at++) {
      const byte = bytes[at]!
      if (byte < 32 && byte !== TAB) return 'a control character in a header'
    }
    if (trailer) return ''
    this.#parts?.field(latin1(bytes, start, colon), latin1(bytes, colon + 1, end))
    // Only four headers matter, and their names have three different lengths.
    const length = colon - start
    if (length !== 14 && length !== 17 && length !== 10) return ''
    let from = colon + 1
    let to = end
    while (from < to && (bytes[from] === SPACE || bytes[from] === TAB)) from++
    while (to > from && (bytes[to - 1] === SPACE || bytes[to - 1] === TAB)) to--
    if (length === 14 && isWord(bytes, start, colon, 'content-length')) return this.#contentLength(bytes, from, to)
    if (length === 17 && isWord(bytes, start, colon, 'transfer-encoding')) {
      return this.#transferEncoding(bytes, from, to)
    }
    if (isWord(bytes, start, colon, 'connection')) this.#connection(bytes, from, to)
    else if (isWord(bytes, start, colon, 'keep-alive')) this.#keepAlive(bytes, from, to)
    return ''
  }

  #contentLength(bytes: Uint8Array, from: number, to: number): string {
    let value = 0
    for (let at = from; at < to; at++) {
      if (!isDigit(bytes[at]!)) return `Content-Length "${textOf(bytes, from, to)}" is not a number`
      value = value * 10 + bytes[at]! - 48
    }
    if (from === to || to - from > 15) {
      return `Content-Length "${textOf(bytes, from, to)}" is not a number of at most 15 digits`
    }
    if (this.#length >= 0 && this.#length !== value) return 'two Content-Length headers that differ'
    this.#length = value
    return ''
  }

  /** Chunked must be the last coding and appear once; an answer whose last coding is another lasts until close. */
  #transferEncoding(bytes: Uint8Array, from: number, to: number): string {
    this.#encoded = true
    let fault = ''
    eachToken(bytes, from, to, (start, end) => {
      if (this.#chunked) fault = 'a transfer coding after chunked'
      else if (isWord(bytes, start, end, 'chunked')) this.#chunked = true
    })
    return fault
  }

  #connection(bytes: Uint8Array, from: number, to: number): void {
    eachToken(bytes, from, to, (start, end) => {
      if (isWord(bytes, start, end, 'close')) this.#close = true
      else if (isWord(bytes, start, end, 'keep-alive')) this.#keep = true
    })
  }

  /** Parses `timeout=5, max=1000`, in seconds. Anything other than a number is ignored. */
  #keepAlive(bytes: Uint8Array, from: number, to: number): void {
    eachToken(bytes, from, to, (start, end) => {
      let at = start + TIMEOUT.length
      if (at >= end || !isWord(bytes, start, at, TIMEOUT)) return
      let seconds = 0
      for (; at < end; at++) {
        if (!isDigit(bytes[at]!)) return
        seconds = seconds * 10 + bytes[at]! - 48
      }
      this.keptMs = seconds * 1000
    })
  }

  #headersEnd(): string {
    const { status } = this
    // An interim answer (100 Continue, 103 Early Hints) precedes the final one.
    if (status < 200 && status !== 101) {
      this.#expectStatusLine()
      return ''
    }
    if (this.#encoded && this.#length >= 0) return 'both Transfer-Encoding and Content-Length'
    this.reusable = status !== 101 && !this.#close && (!this.#old || (this.#keep && !this.#encoded))
    if (this.#headRequest || status === 101 || status === 204 || status === 304) {
      this.#state = State.done
    } else if (this.#chunked) {
      this.#state = State.chunkSize
    } else if (this.#encoded || this.#length < 0) {
      this.reusable = false
      this.#state = State.bodyUntilClose
    } else {
      this.#left = this.#length
      this.#state = this.#left === 0 ? State.done : State.body
    }
    return ''
  }

  /** Parses `1f;name=value`: a hexadecimal size; extensions are ignored. */
  #chunkSizeLine(bytes: Uint8Array, start: number, end: number): string {
    let size = 0
    let at = start
    for (; at < end; at++) {
      const digit = hexValue(bytes[at]!)
      if (digit < 0) break
      size = size * 16 + digit
    }
    const digits = at - start
    while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at++
    if (digits === 0 || digits > 12 || (at < end && bytes[at] !== 59)) {
      return `expected the size of a chunk, got "${textOf(bytes, start, end)}"`
    }
    this.#left = size
    this.#state = size === 0 ? State.trailers : State.chunkData
    return ''
  }
}

const latin1 = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end))

const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  latin1(bytes, start, Math.min(end, start + 60)).replace(/[^ -~]/g, '?')

const notHttp = (bytes: Uint8Array, start: number, end: number): string =>
  `expected an HTTP/1.1 status line, got "${textOf(bytes, start, end)}"`

const isDigit = (byte: number): boolean => byte >= 48 && byte <= 57

const hexValue = (byte: number): number => {
  if (isDigit(byte)) return byte - 48
  const lower = byte | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

/** True if `bytes[start, end)` equals `word` (in lower case), ignoring case. */
const isWord = (bytes: Uint8Array, start: number, end: number, word: string): boolean => {
  if (end - start !== word.length) return false
  for (let i = 0; i < word.length; i++) {
    const byte = bytes[start + i]!
    if ((byte >= 65 && byte <= 90 ? byte | 32 : byte) !== word.charCodeAt(i)) return false
  }
  return true
}

/** Calls `visit` with the bounds of every token of a comma-separated list. */
const eachToken = (bytes: Uint8Array, from: number, to: number, visit: (start: number, end: number) => void): void => {
  let start = from
  for (let at = from; at <= to; at++) {
    if (at < to && bytes[at] !== 44) continue
    let end = at
    while (start < end && (bytes[start] === SPACE || bytes[start] === TAB)) start++
    while (end > start && (bytes[end - 1] === SPACE || bytes[end - 1] === TAB)) end--
    if (end > start) visit(start, end)
    start = at + 1
  }
}
