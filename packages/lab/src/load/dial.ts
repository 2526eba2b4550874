/** Connects to a server with TCP, and with TLS if the server uses it. */
import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import type { Peer } from './target.ts'

/** `tls`: options for a server that uses TLS. `onread` receives the bytes instead of events. */
export const dial = (peer: Peer, tls: ConnectionOptions, onConnected: () => void, onread?: OnReadOpts): Socket => {
  const options = {
    host: peer.address,
    port: peer.port,
    noDelay: true,
    autoSelectFamily: false,
    ...(onread === undefined ? {} : { onread }),
  }
  if (peer.tlsName === undefined) return connectTcp(options).on('connect', onConnected)
  // In TLS a server name cannot be an address.
  const servername = isIP(peer.tlsName) === 0 ? peer.tlsName : ''
  return connectTls({ ...options, ...tls, servername }).on('secureConnect', onConnected)
}
