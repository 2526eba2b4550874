/** Connects to a server with TCP, and with TLS if the server uses it. */
import { connect as connectTcp, type OnReadOpts, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import type { Peer } from './target.ts'

/** In TLS a server name cannot be an address. */
const serverName = (name: string): string => (/^[\d.]+$|:/.test(name) ? '' : name)

/** `tls`: options for a server that uses TLS. `onread` receives the bytes instead of events. */
export const dial = (peer: Peer, tls: ConnectionOptions, onConnected: () => void, onread?: OnReadOpts): Socket => {
  const options = {
    host: peer.address,
    port: peer.port,
    noDelay: true,
    autoSelectFamily: false,
    ...(onread === undefined ? {} : { onread }),
  }
  return peer.tlsName === undefined
    ? connectTcp(options).on('connect', onConnected)
    : connectTls({ ...options, ...tls, servername: serverName(peer.tlsName) }).on('secureConnect', onConnected)
}
