/** A client that sends exact bytes and reads responses with a parser stricter than any real one. */
import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'

export interface Answer {
  readonly status: number
  /** Names in lower case. A repeated name is an error, except set-cookie. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The exact bytes, as latin-1. */
  readonly raw: string
}

/** Longer than anything here takes. It only ends a test that would hang. */
const PATIENCE_MS = 15_000

export class RawConnection {
  readonly socket: net.Socket
  /** Resolves when the server has closed or reset the connection. */
  readonly closed: Promise<void>
  #received = ''
  #isClosed = false
  #wake: () => void = () => undefined

  private constructor(socket: net.Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('data', chunk => {
      this.#received += chunk.toString('latin1')
      this.#wake()
    })
    this.closed = new Promise(resolve => {
      const close = (): void => {
        this.#isClosed = true
        this.#wake()
        resolve()
      }
      socket.on('end', close)
      socket.on('close', close)
      socket.on('error', close)
    })
  }

  static async open(port: number, secure = false): Promise<RawConnection> {
    const socket = secure
      ? tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, secure ? 'secureConnect' : 'connect')
    return new RawConnection(socket)
  }

  /** Everything received and not yet consumed. */
  get received(): string {
    return this.#received
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  send(bytes: string | Buffer): this {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    return this
  }

  get(path: string, ...headers: string[]): this {
    return this.send([`GET ${path} HTTP/1.1`, 'Host: test', ...headers, '', ''].join('\r\n'))
  }

  /** Returns the next complete response. `method` is that of its request. Throws for invalid bytes. */
  async answer(method = 'GET'): Promise<Answer> {
    const answer = await this.#until(() => parseAnswer(this.#received, method, this.#isClosed))
    this.#received = this.#received.slice(answer.raw.length)
    return answer
  }

  /** Everything received until the server closes. */
  async rest(): Promise<string> {
    await this.#until(() => (this.#isClosed ? true : undefined))
    return this.#received
  }

  destroy(): void {
    this.socket.destroy()
  }

  async #until<T>(look: () => T | undefined): Promise<T> {
    const deadline = Date.now() + PATIENCE_MS
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      if (this.#isClosed) throw new Error(`closed after ${JSON.stringify(this.#received)}`)
      if (Date.now() > deadline) throw new Error(`nothing more came after ${JSON.stringify(this.#received)}`)
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      const timer = setTimeout(resolve, PATIENCE_MS)
      await promise
      clearTimeout(timer)
    }
  }
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) ([\x20-\x7e]*)$/
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/

/** Returns the first response in `text`, or undefined while it is incomplete. */
export function parseAnswer(text: string, method: string, ended: boolean): Answer | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine, ...lines] = text.slice(0, headEnd).split('\r\n')
  const status = STATUS_LINE.exec(statusLine!)
  if (status === null) throw new Error(`not a status line: ${JSON.stringify(statusLine)}`)
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const field = FIELD.exec(line)
    if (field === null) throw new Error(`not a header field: ${JSON.stringify(line)}`)
    const name = field[1]!.toLowerCase()
    if (name in headers && name !== 'set-cookie') throw new Error(`${name} came twice`)
    headers[name] = field[2] ?? ''
  }
  const code = Number(status[1])
  const bodyStart = headEnd + 4
  const done = (bodyEnd: number, body = text.slice(bodyStart, bodyEnd)): Answer => ({
    status: code,
    headers,
    body,
    raw: text.slice(0, bodyEnd),
  })
  if (method === 'HEAD' || code < 200 || code === 204 || code === 304) return done(bodyStart)
  if (headers['transfer-encoding'] !== undefined) {
    if (headers['content-length'] !== undefined) throw new Error('both transfer-encoding and content-length')
    return parseChunks(text, bodyStart, done)
  }
  if (headers['content-length'] !== undefined) {
    if (!/^\d+$/.test(headers['content-length'])) throw new Error(`content-length ${headers['content-length']}`)
    const end = bodyStart + Number(headers['content-length'])
    return text.length >= end ? done(end) : undefined
  }
  if (headers['connection'] !== 'close' && code !== 400) throw new Error('a body of unknown length')
  return ended ? done(text.length) : undefined
}

function parseChunks(text: string, start: number, done: (end: number, body: string) => Answer): Answer | undefined {
  let at = start
  let body = ''
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    if (Number.isNaN(size)) throw new Error(`not a chunk size: ${text.slice(at, lineEnd)}`)
    if (size === 0) {
      const end = text.indexOf('\r\n\r\n', lineEnd - 0)
      const trailersEnd = text.startsWith('\r\n', lineEnd + 2) ? lineEnd + 4 : end < 0 ? -1 : end + 4
      return trailersEnd < 0 ? undefined : done(trailersEnd, body)
    }
    if (text.length < lineEnd + 2 + size + 2) return undefined
    body += text.slice(lineEnd + 2, lineEnd + 2 + size)
    at = lineEnd + 2 + size + 2
  }
}
