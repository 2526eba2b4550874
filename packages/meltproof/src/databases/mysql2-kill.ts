/**
 * Ends a query of MySQL: sends `KILL QUERY` on a separate connection with the same settings. A thread id is valid on
 * one server only: on another one it belongs to another client. A host name or a balancer may lead to another server,
 * so the separate connection uses the same address, and first checks that the thread belongs to the query's connection.
 */
import { connect } from 'node:net'
import type { Cancellation, CancellationOutcome } from './cancellations.ts'
import type { Connection } from './mysql2-shapes.ts'

export function killQuery(connection: Connection): Cancellation | undefined {
  const { threadId } = connection
  const config = configForKiller(connection)
  if (typeof threadId !== 'number' || config === undefined) return undefined
  const check = selectThread(threadId, connection.stream.localPort)
  // A PoolConnection acts on its pool when it is released or destroyed, so its parent class is used.
  const own: object & { name: string } = connection.constructor
  const plain = own.name === 'PoolConnection' ? Object.getPrototypeOf(own) : own
  return done => {
    const killer = new (plain as unknown as new (options: object) => Connection)({ config })
    let sent = false
    let ended = false
    const end = (outcome: CancellationOutcome): void => {
      ended = true
      killer.destroy()
      done(sent ? outcome : 'unsent')
    }
    killer.on('error', () => end('unknown'))
    killer.query(check, (failure, rows) => {
      if (ended) return
      if (failure || !Array.isArray(rows) || rows.length === 0) {
        end('unsent')
        return
      }
      sent = true
      killer.query(`KILL QUERY ${threadId}`, error =>
        end((error as { fatal?: boolean } | null)?.fatal === true ? 'unknown' : 'processed'),
      )
    })
    return () => end('unknown')
  }
}

/** Undefined if no other connection to the same address is possible. */
function configForKiller({ config, stream }: Connection): object | undefined {
  const { localPort, remoteAddress, remotePort } = stream
  // A function opens another stream; this connection's port identifies the thread. A stream object is already in use.
  if (config.stream) return typeof config.stream === 'function' && localPort !== undefined ? config : undefined
  if (config.socketPath) return config
  // A closed socket has no addresses.
  if (localPort === undefined || remoteAddress === undefined || remotePort === undefined) return undefined
  const copy = Object.assign(Object.create(Object.getPrototypeOf(config) as object), config) as object
  // `host` remains, because TLS checks the certificate for it.
  return Object.assign(copy, { stream: () => connect({ host: remoteAddress, port: remotePort }) })
}

/**
 * Finds the thread only if it has the same user and client port. Each user may see its own threads. A Unix socket has
 * no port, but always leads to the same server.
 */
function selectThread(threadId: number, localPort: number | undefined): string {
  const thread = `SELECT 1 FROM information_schema.PROCESSLIST p WHERE p.ID = ${threadId}`
  const ofUser = `${thread} AND USER() LIKE CONCAT(p.USER, '@%')`
  return localPort === undefined ? ofUser : `${ofUser} AND SUBSTRING_INDEX(p.HOST, ':', -1) = '${localPort}'`
}
