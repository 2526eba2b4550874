/** Where the load goes: a URL taken apart, resolved once so that no name server is part of what is measured. */
import { lookup } from 'node:dns/promises'
import { connect } from 'node:net'
import { hideFields } from './template.ts'

export interface Target {
  readonly secure: boolean
  /** Name as in the URL, without brackets: what TLS verifies. */
  readonly hostname: string
  readonly port: number
  /** Value of the Host header. */
  readonly host: string
  /** Path and query. */
  readonly path: string
}

/** Takes an http: or https: URL apart, its fields kept where it is `templated`; throws a TypeError in one sentence otherwise. */
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

/** True when a TCP connection can be made. */
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
 * The address to load. A name with several addresses (localhost: ::1 and 127.0.0.1) is tried in the resolver's order
 * and the first that accepts a connection is taken, for the whole run; if none does, the first, so that the run
 * reports what is wrong. Undefined when the name has no address.
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
