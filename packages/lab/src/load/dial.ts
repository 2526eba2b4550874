/** Connects to a server: TCP, and TLS where it speaks that. */
import { connect as connectTcp, type OnReadOpts, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import type { Peer } from './connection.ts'
import { serverName } from './tls.ts'

/** `tls` is what a connection is made with where the peer speaks TLS; `onread` takes the bytes in the place of events. */
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
