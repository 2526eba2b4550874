/** Parses the target URL and resolves it once, so that no name server is part of the measurement. */
import { lookup } from 'node:dns/promises'
import { connect } from 'node:net'
import { hideFields } from './template.ts'

export interface Target {
  readonly secure: boolean
  /** The URL's host name without brackets, which TLS verifies. */
  readonly hostname: string
  readonly port: number
  /** Value of the Host header. */
  readonly host: string
  /** Path and query. */
  readonly path: string
}

/** Parses an http: or https: URL, and keeps its template fields if `templated`; throws a TypeError in one sentence. */
export const parseTarget = (url: string, templated = false): Target => {
  const { hidden, restore } = templated ? hideFields(url) : { hidden: url, restore: (text: string) => text }
  const parsed = URL.canParse(hidden) ? new URL(hidden) : undefined
  if (parsed === undefined || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') || parsed.hostname === '') {
    throw new TypeError(`expected a URL such as http://127.0.0.1:3000/, got "${url}"`)
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new TypeError('a user name or password in the URL is not sent: use an Authorization header')
  }
  if (restore(parsed.host) !== parsed.host)
    throw new TypeError(`the host of a URL is the same for all requests, got "${url}"`)
  const secure = parsed.protocol === 'https:'
  return {
    secure,
    hostname: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? (secure ? 443 : 80) : Number(parsed.port),
    host: parsed.host,
    path: restore(parsed.pathname + parsed.search),
  }
}

/** True if a TCP connection succeeds. */
export const accepts = (address: string, port: number, timeoutMs: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect({ host: address, port })
    const timer = setTimeout(() => finish(false), timeoutMs)
    const finish = (answer: boolean): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
  })

/**
 * The address for the load. Of several addresses (localhost: ::1 and 127.0.0.1) the first in the resolver's order that
 * accepts a connection serves for the whole run. If none does, it is the first, so that the run reports what is wrong.
 * Undefined when the name has no address.
 */
export const resolveAddress = async (target: Target, timeoutMs: number): Promise<string | undefined> => {
  let addresses: string[]
  try {
    addresses = (await lookup(target.hostname, { all: true })).map(found => found.address)
  } catch {
    return undefined
  }
  if (addresses.length > 1) {
    for (const address of addresses) if (await accepts(address, target.port, timeoutMs)) return address
  }
  return addresses[0]
}
