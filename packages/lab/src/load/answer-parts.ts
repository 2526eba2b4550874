/** Extracts what a journey's step needs from its answer: a JSON value, a header or a cookie. Knows no connection. */
import { Buffer } from 'node:buffer'
import type { Extraction } from './plan.ts'

/** Longer bodies are not parsed: thousands of answers at once would fill the memory. */
const MOST_BYTES = 262_144

export class AnswerParts {
  #fields: (readonly [name: string, value: string])[] = []
  #body: Buffer[] = []
  #bytes = 0

  /** Begins a head, and drops the fields of an interim answer (1xx). */
  begin(): void {
    this.#fields = []
  }

  field(name: string, value: string): void {
    this.#fields.push([name.toLowerCase(), value.trim()])
  }

  /** Copies the bytes, because the next read reuses their buffer. */
  body(bytes: Uint8Array): void {
    this.#bytes += bytes.length
    if (this.#bytes <= MOST_BYTES) this.#body.push(Buffer.from(bytes))
  }

  /** Undefined if it is absent or cannot be used in a request: an object, or text with control characters. */
  read({ from, at }: Extraction): string | undefined {
    const found = from === 'json' ? this.#json(at) : from === 'header' ? this.#header(at) : this.#cookie(at)
    return found === undefined || CONTROL.test(found) ? undefined : found
  }

  #header(name: string): string | undefined {
    return this.#fields.findLast(([each]) => each === name.toLowerCase())?.[1]
  }

  #cookie(name: string): string | undefined {
    const cookies = this.#fields.flatMap(([each, value]) => (each === 'set-cookie' ? value.split(';', 1) : []))
    return cookies.findLast(each => each.startsWith(`${name}=`))?.slice(name.length + 1)
  }

  /** RFC 6901: `/items/0/id`, with ~1 for / and ~0 for ~. */
  #json(pointer: string): string | undefined {
    if (this.#bytes > MOST_BYTES) return undefined
    let found: unknown
    try {
      found = JSON.parse(Buffer.concat(this.#body).toString())
    } catch {
      return undefined
    }
    for (const part of pointer.split('/').slice(1)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
      // Only indexes of an array are valid, not its `length`.
      if (Array.isArray(found) && !/^\d+$/.test(name)) return undefined
      found = (found as Readonly<Record<string, unknown>>)[name]
    }
    return ['string', 'number', 'boolean'].includes(typeof found) ? String(found) : undefined
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters could end a header or begin another.
const CONTROL = /[\0-\x1f\x7f]/
