/**
 * Keeps label values bounded: whatever a client can choose (methods, hosts, paths) must not grow series without end.
 * Pure.
 */

/** What every value after the first so many becomes. */
export const OTHER = 'other'

/** The first `most` different values as they are, later ones as `other`. */
export class BoundedNames {
  readonly #known = new Set<string>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  of(name: string): string {
    if (this.#known.has(name)) return name
    if (this.#known.size >= this.#most) return OTHER
    this.#known.add(name)
    return name
  }
}

/** The methods of RFC 9110 and RFC 5789; others are `_OTHER`, as OpenTelemetry's conventions ask. */
const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'CONNECT',
  'OPTIONS',
  'TRACE',
  'PATCH',
])

export function methodLabel(method: string): string {
  return METHODS.has(method) ? method : '_OTHER'
}

/** Address and port of a peer such as `https://api.example:8443` or `db.example:5432/shop`. */
export function addressOf(peer: string): { readonly address: string; readonly port: string } {
  const match = /^(?:([a-z]+):\/\/)?(\[[^\]]*\]|[^:/]*)(?::(\d{1,5}))?(?:\/|$)/.exec(peer)
  if (match === null) return { address: peer, port: '' }
  const [, scheme, address = peer, port] = match
  return { address, port: port ?? (scheme === 'https' ? '443' : scheme === 'http' ? '80' : '') }
}
