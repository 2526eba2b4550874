/** The servers of a run: parses their URLs, resolves each once, so that no name server is measured, and connects. */
import { lookup } from 'node:dns/promises'
import { connect, isIP, type OnReadOpts, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { hideFields } from './template.ts'
import { reaches } from './tls.ts'

export interface Target {
  readonly secure: boolean
  /** The URL's host name without brackets, which TLS verifies. */
  readonly hostname: string
  readonly port: number
  readonly host: string
  readonly path: string
}

export interface Peer {
  /** Index among the servers of the run. */
  readonly index: number
  readonly address: string
  readonly port: number
  /** Name for TLS to verify; undefined for plain HTTP. */
  readonly tlsName: string | undefined
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

export const accepts = (address: string, port: number, timeoutMs: number): Promise<boolean> =>
  reaches(connect({ host: address, port }), 'connect', timeoutMs)

/** Returns the first address that accepts a connection, or else the first one; undefined if the name has none. */
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

export const peersOf = (servers: readonly Target[], timeoutMs: number): Promise<(Peer | undefined)[]> =>
  Promise.all(
    servers.map(async (server, index) => {
      const address = await resolveAddress(server, timeoutMs)
      const tlsName = server.secure ? server.hostname : undefined
      return address === undefined ? undefined : { index, address, port: server.port, tlsName }
    }),
  )

/** Connects with TCP, and with TLS if the server uses it: `tls` has its options. `onread` replaces the data events. */
export const dial = (peer: Peer, tls: ConnectionOptions, onConnected: () => void, onread?: OnReadOpts): Socket => {
  const options = {
    host: peer.address,
    port: peer.port,
    noDelay: true,
    autoSelectFamily: false,
    ...(onread === undefined ? {} : { onread }),
  }
  if (peer.tlsName === undefined) return connect(options).on('connect', onConnected)
  // In TLS a server name cannot be an address.
  const servername = isIP(peer.tlsName) === 0 ? peer.tlsName : ''
  return connectTls({ ...options, ...tls, servername }).on('secureConnect', onConnected)
}
