/** The origin of a call. Limits are set for it, and records name it. */
import type { ClientRequest } from 'node:http'

const known = new Map<string, string>()
const MOST_KNOWN = 1_000

/** `scheme://host[:port]` in lower case, without default ports; undefined for a value that is not a URL. */
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

/**
 * The target of a node:http request, or `unix:/path`. The port comes from the Host header, unless that names another
 * host, as when a reverse proxy forwards its client's Host header. A forward proxy gets the whole URL as the path.
 */
export function originOf(request: ClientRequest): string {
  const { protocol, host, path, socketPath } = request as ClientRequest & { socketPath?: string }
  if (typeof socketPath === 'string') return `unix:${socketPath}`
  const header = request.getHeader('host')
  const named = typeof header === 'string' && header !== '' ? header : host
  const text = `${protocol}//${hostOf(named) === host ? named : (authorityOf(request) ?? host)}`
  return (/^https?:/.test(path) && normalOrigin(path)) || (normalOrigin(text) ?? text)
}

/** Returns the host without port and brackets. */
function hostOf(authority: string): string {
  return /^\[?(.*?)\]?(?::\d*)?$/.exec(authority)![1]!
}

let kAuthority: symbol | undefined

/** `host:port`, as stored by Node 24. */
function authorityOf(request: ClientRequest): string | undefined {
  kAuthority ??= Object.getOwnPropertySymbols(request).find(({ description }) => description === 'kAuthority')
  const authority = kAuthority && (request as unknown as Record<symbol, unknown>)[kAuthority]
  return typeof authority === 'string' ? authority : undefined
}
