/**
 * PostgreSQL's cancel request: a connection of its own that carries the backend's process and its secret, and that the
 * server closes without an answer (PostgreSQL documentation, chapter Frontend/Backend Protocol). It is encrypted when
 * the client's connection is, since the secret travels in it.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import type { Cancellation } from './cancellations.ts'

export interface CancelTarget {
  readonly host?: string
  readonly port?: number
  readonly ssl?: unknown
  readonly sslNegotiation?: string
  readonly processID?: number | null
  readonly secretKey?: number | null
}

const CANCEL_REQUEST_CODE = 80_877_102
const SSL_REQUEST_CODE = 80_877_103
const YES = 'S'.charCodeAt(0)

/** The cancellation of whatever this client is running; undefined when it has no backend to cancel. */
export function pgCancellation(client: CancelTarget): Cancellation | undefined {
  const { host = 'localhost', port = 5432, ssl, sslNegotiation, processID, secretKey } = client
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return undefined
  return done => {
    const socket = host.startsWith('/') ? connectTcp(`${host}/.s.PGSQL.${port}`) : connectTcp(port, host)
    let sent = false
    let failed = false
    // The server closes once it has signalled the backend; before that nothing is certain.
    const over = (): void => done(!sent ? 'unsent' : failed ? 'unknown' : 'processed')
    const fail = (): void => {
      failed = true
      socket.destroy()
    }
    const send = (on: Socket): void => {
      sent = true
      on.resume()
      // Not ended: to a proxy that would be a reason to close our side before it has passed the request on.
      on.write(cancelRequest(processID, secretKey))
    }
    socket.unref()
    socket.on('error', fail)
    socket.on('close', over)
    socket.once('connect', () => {
      if (!ssl) return send(socket)
      const secure = (): void => {
        const options: ConnectionOptions = { ...(typeof ssl === 'object' ? ssl : {}), socket }
        if (!host.startsWith('/') && !/^[\d.]+$|:/.test(host)) options.servername ??= host
        if (sslNegotiation === 'direct') options.ALPNProtocols = ['postgresql']
        const encrypted = connectTls(options, () => send(encrypted))
        encrypted.on('error', fail)
        encrypted.on('close', () => socket.destroy())
      }
      if (sslNegotiation === 'direct') return secure()
      socket.once('data', answer => {
        if (answer[0] === YES) secure()
        else socket.destroy()
      })
      socket.write(request(8, SSL_REQUEST_CODE))
    })
    return fail
  }
}

function cancelRequest(processID: number, secretKey: number): Buffer {
  const packet = request(16, CANCEL_REQUEST_CODE)
  packet.writeInt32BE(processID, 8)
  packet.writeInt32BE(secretKey, 12)
  return packet
}

function request(length: number, code: number): Buffer {
  const packet = Buffer.alloc(length)
  packet.writeInt32BE(length, 0)
  packet.writeInt32BE(code, 4)
  return packet
}
