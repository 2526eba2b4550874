/** A port of our own. While another process has it, it is tried again; without it the app runs as before. */
import type { Server } from 'node:net'

export interface Address {
  readonly host: string
  readonly port: number
}

const TRY_EVERY_MS = 1000

/** On servers of meltproof's own: meltproof/register leaves them alone. Every copy of meltproof in the process knows it. */
const OWN: unique symbol = Symbol.for('meltproof.own-server') as never

/** @param failed called at each failed attempt: why, what happens next, and whether another process has the port */
export function holdPort(
  server: Server,
  { host, port }: Address,
  failed: (why: string, isTaken: boolean) => void,
): void {
  Object.defineProperty(server, OWN, { value: true })
  // Otherwise a worker would share its primary's port, and the app's primary would learn of a server that is not the app's.
  const take = (): void => void server.listen({ host, port, exclusive: true })
  server.on('error', (error: NodeJS.ErrnoException) => {
    const isTaken = error.code === 'EADDRINUSE'
    if (isTaken) setTimeout(take, TRY_EVERY_MS).unref()
    failed(`${String(error)}.${isTaken ? ' It is tried again every second.' : ''}`, isTaken)
  })
  take()
}

export function isOwn(server: Server): boolean {
  return OWN in server
}
