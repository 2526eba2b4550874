/**
 * Sends PostgreSQL's cancel request: a separate connection carries the process id and secret of the backend, and the
 * server closes it without an answer. pg opens it, so it is encrypted when the client's connection is.
 */
import type { Cancellation } from './cancellations.ts'
import type { PgClient, PgConnection } from './pg-shapes.ts'

export function pgCancellation(client: PgClient): Cancellation | undefined {
  const { host = 'localhost', port = 5432, ssl, sslNegotiation, processID, secretKey, connection } = client
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return undefined
  const Connection = connection?.constructor as new (options: object) => PgConnection
  return done => {
    const canceller = new Connection({ ssl, sslNegotiation })
    let sent = false
    let failed = false
    const leaves = (): void => {
      sent = true
    }
    const fail = (): void => {
      failed = true
      canceller.stream.destroy()
    }
    canceller.on('error', fail)
    // The server closes the connection after it has signalled the backend. Before that, the outcome is unknown.
    canceller.on('end', () => done(!sent ? 'unsent' : failed ? 'unknown' : 'processed'))
    if (ssl && sslNegotiation !== 'direct') canceller.on('connect', () => canceller.requestSsl())
    canceller.on(ssl ? 'sslconnect' : 'connect', () => {
      // pg emits 'sslconnect' when the handshake begins; nothing is sent before its end.
      if (ssl) canceller.stream.once('secureConnect', leaves)
      else leaves()
      // end() is not called: a proxy could then close the connection before it has forwarded the request.
      canceller.cancel(processID, secretKey)
    })
    if (host.startsWith('/')) canceller.connect(`${host}/.s.PGSQL.${port}`)
    else canceller.connect(port, host)
    canceller.stream.unref?.()
    return fail
  }
}
