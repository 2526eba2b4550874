/** Forwards members of an object to the raw HTTP/2 stream that it stands for: reads, calls and replacements. */
import type { ServerHttp2Stream } from 'node:http2'

/** Defines an accessor on `prototype` for each name. Methods are bound to the stream. */
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
