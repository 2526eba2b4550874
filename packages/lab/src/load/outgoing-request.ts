/** Builds the requests to one target: once if all are equal, otherwise each one. */
import { Buffer } from 'node:buffer'
import type { OutgoingHttpHeaders } from 'node:http2'
import type { RequestText } from './request-text.ts'
import { type Extracted, type Template, templateOf } from './template.ts'

export interface Http2Message {
  readonly headers: OutgoingHttpHeaders
  readonly body: Uint8Array | undefined
}

export class OutgoingRequest {
  readonly isHead: boolean
  /** Body length of the last request, bytes. */
  bodyBytes = 0
  /** The request line, whose values from earlier answers are encoded for a URL, and the header fields. */
  readonly #line: Template
  readonly #head: Template
  readonly #body: Template | undefined
  readonly #constant: boolean
  #bytes: Uint8Array | undefined
  #message: Http2Message | undefined

  /** Pass `random` to fill in template fields. Throws a RangeError that names an unknown field. */
  constructor({ head, body, isHead, extracted }: RequestText, random: (() => number) | undefined) {
    const template = (text: string, encode?: (value: string) => string): Template =>
      random === undefined ? text : templateOf(text, random, extracted, encode)
    this.isHead = isHead
    const lineEnd = head.includes('\r\n') ? head.indexOf('\r\n') : head.length
    this.#line = template(head.slice(0, lineEnd), encodeURIComponent)
    this.#head = template(head.slice(lineEnd))
    this.#body = body === undefined ? undefined : template(body, bodyEncoding(head))
    this.#constant = [this.#line, this.#head, this.#body].every(each => typeof each !== 'function')
  }

  bytes(number: number, extracted: Extracted = {}): Uint8Array {
    if (this.#bytes === undefined || !this.#constant) this.#bytes = http1Bytes(...this.#filled(number, extracted))
    return this.#bytes
  }

  message(number: number, extracted: Extracted = {}): Http2Message {
    if (this.#message === undefined || !this.#constant) this.#message = http2Message(...this.#filled(number, extracted))
    return this.#message
  }

  #filled(number: number, extracted: Extracted): [head: string, body: string | undefined] {
    const now = this.#constant ? 0 : Date.now()
    const fill = (template: Template): string =>
      typeof template === 'string' ? template : template(number, now, extracted)
    const body = this.#body === undefined ? undefined : fill(this.#body)
    this.bodyBytes = body?.length ?? 0
    return [fill(this.#line) + fill(this.#head), body]
  }
}

/** Returns how to escape a value in a JSON string or a form; undefined for other types. */
const bodyEncoding = (head: string): ((value: string) => string) | undefined => {
  const type = /\r\ncontent-type:([^;\r]*)/i.exec(head)?.[1] ?? ''
  if (type.includes('json')) return value => Buffer.from(JSON.stringify(value).slice(1, -1)).toString('latin1')
  return type.includes('x-www-form-urlencoded') ? encodeURIComponent : undefined
}

const http1Bytes = (head: string, body: string | undefined): Uint8Array =>
  Buffer.from(
    body === undefined ? `${head}\r\n\r\n` : `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    'latin1',
  )

const http2Message = (head: string, body: string | undefined): Http2Message => {
  const [first = '', ...lines] = head.split('\r\n')
  const [method, path] = first.split(' ')
  const headers: Record<string, string | string[]> = { ':method': method!, ':path': path! }
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    if (name === 'connection') continue
    const key = name === 'host' ? ':authority' : name
    const value = line.slice(colon + 2)
    const before = headers[key]
    headers[key] = before === undefined ? value : [before, value].flat()
  }
  if (body !== undefined) headers['content-length'] = String(body.length)
  return { headers, body: body === undefined ? undefined : Buffer.from(body, 'latin1') }
}
