/** The bytes of a target's requests: made once when all are the same, else anew for each. */
import { Buffer } from 'node:buffer'
import type { RequestText } from './request-text.ts'
import { type Template, templateOf } from './template.ts'

export class OutgoingRequest {
  readonly isHead: boolean
  /** Of the body of the request made last. */
  bodyBytes = 0
  readonly #head: Template
  readonly #body: Template | undefined
  readonly #same: Uint8Array | undefined

  /** `random` when its fields are to be filled in. Throws a RangeError that names a field which does not exist. */
  constructor({ head, body, isHead }: RequestText, random: (() => number) | undefined) {
    const template = (text: string): Template => (random === undefined ? text : templateOf(text, random))
    this.isHead = isHead
    this.#head = template(head)
    this.#body = body === undefined ? undefined : template(body)
    if (typeof this.#head === 'string' && typeof this.#body !== 'function') this.#same = this.#make(0, 0)
  }

  bytes(number: number, nowMs: () => number): Uint8Array {
    return this.#same ?? this.#make(number, nowMs())
  }

  #make(number: number, nowMs: number): Uint8Array {
    const head = filled(this.#head, number, nowMs)
    if (this.#body === undefined) return Buffer.from(`${head}\r\n\r\n`, 'latin1')
    const body = filled(this.#body, number, nowMs)
    this.bodyBytes = body.length
    return Buffer.from(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`, 'latin1')
  }
}

const filled = (template: Template, number: number, nowMs: number): string =>
  typeof template === 'string' ? template : template(number, nowMs)
