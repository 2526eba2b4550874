/** Ends a query of MySQL: sends `KILL QUERY` on a separate connection with the same settings. */
import type { Cancellation } from './cancellations.ts'
import type { Connection } from './mysql2-shapes.ts'

export function killQuery(connection: Connection): Cancellation | undefined {
  const { threadId, config } = connection
  if (typeof threadId !== 'number') return undefined
  // A PoolConnection acts on its pool when it is released or destroyed, so its parent class is used.
  const own: object & { name: string } = connection.constructor
  const plain = own.name === 'PoolConnection' ? Object.getPrototypeOf(own) : own
  return done => {
    const killer = new (plain as unknown as new (options: object) => Connection)({ config })
    let sent = false
    const end = (outcome: 'processed' | 'unknown'): void => {
      killer.destroy()
      done(sent ? outcome : 'unsent')
    }
    killer.on('connect', () => {
      sent = true
    })
    killer.on('error', () => end('unknown'))
    killer.query(`KILL QUERY ${threadId}`, error =>
      end((error as { fatal?: boolean } | null)?.fatal === true ? 'unknown' : 'processed'),
    )
    return () => end('unknown')
  }
}
