/**
 * Values by origin: `https://api.example:8443`, `unix:/path`, `https://*.example` for all hosts below a domain, `*` for
 * every origin. An exact origin wins over a wildcard, a longer wildcard over a shorter one. Pure.
 */
import { invalidOption } from '../options.ts'

interface Wildcard<T> {
  readonly scheme: string
  /** The pattern's text after the star, with the port: `.internal:8080`. */
  readonly suffix: string
  readonly value: T
}

export class OriginTable<T> {
  readonly #exact: Map<string, T> = new Map()
  /** The longest suffix first. That of `*` is empty. */
  readonly #wildcards: Wildcard<T>[] = []

  /** Throws for an invalid pattern. `option` is the name of the option in the message. */
  set(option: string, pattern: unknown, value: T): void {
    const text = typeof pattern === 'string' ? pattern : ''
    const wildcard = /^(https?:\/\/)\*\.(.+)$/i.exec(text)
    const url = parse(wildcard === null ? text : wildcard[1]! + wildcard[2]!)
    if (text.startsWith('unix:/')) this.#exact.set(text, value)
    else if (text === '*') this.#wildcards.push({ scheme: '', suffix: '', value })
    else if (url === undefined) {
      invalidOption(option, "an origin such as 'https://api:8080', 'https://*.example.com' or 'unix:/path'", pattern)
    } else if (wildcard === null) this.#exact.set(url.origin, value)
    else this.#wildcards.push({ scheme: `${url.protocol}//`, suffix: `.${url.host}`, value })
    this.#wildcards.sort((a, b) => b.suffix.length - a.suffix.length)
  }

  of(origin: string): T | undefined {
    const exact = this.#exact.get(origin)
    if (exact !== undefined || this.#wildcards.length === 0) return exact
    return this.#wildcards.find(({ scheme, suffix }) => origin.startsWith(scheme) && origin.endsWith(suffix))?.value
  }
}

function parse(text: string): URL | undefined {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.host.includes('*')) return undefined
  return url.username + url.password + url.search + url.hash === '' && url.pathname === '/' ? url : undefined
}
