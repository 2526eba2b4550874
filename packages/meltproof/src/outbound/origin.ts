/** The origin of a call: what limits are set for and what records name. */
import type { ClientRequest } from 'node:http'

const known = new Map<string, string>()
const MOST_KNOWN = 1_000

/** `scheme://host[:port]` in lower case, default ports left out; undefined for what is not an origin. */
export function normalOrigin(origin: unknown): string | undefined {
  if (origin instanceof URL) return origin.origin
  if (typeof origin !== 'string') return undefined
  let normal = known.get(origin)
  if (normal === undefined) {
    normal = URL.parse(origin)?.origin
    if (normal === undefined) return undefined
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(origin, normal)
  }
  return normal
}

/** Of a request of node:http: what its Host header says, or `unix:/path`. */
export function originOf(request: ClientRequest): string {
  const { protocol, host, socketPath } = request as ClientRequest & { socketPath?: string }
  if (typeof socketPath === 'string') return `unix:${socketPath}`
  const header = request.getHeader('host')
  const text = `${protocol}//${typeof header === 'string' && header !== '' ? header : host}`
  return normalOrigin(text) ?? text
}
