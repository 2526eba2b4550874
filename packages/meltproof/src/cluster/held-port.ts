/** A port of our own that is tried again while somebody else has it, and whose loss harms nobody. */
import type { Server } from 'node:net'

export interface Address {
  readonly host: string
  readonly port: number
}

const TRY_EVERY_MS = 1000

/** On servers of meltproof's own: meltproof/register leaves them alone. Every copy of meltproof in the process knows it. */
const OWN: unique symbol = Symbol.for('meltproof.own-server') as never

/**
 * @param failed called each time that it can not be had: why, and what happens next; and whether somebody else has it
 * @returns what ends the trying
 */
export function holdPort(
  server: Server,
  { host, port }: Address,
  failed: (why: string, isTaken: boolean) => void,
): () => void {
  let over = false
  let timer: NodeJS.Timeout | undefined
  Object.defineProperty(server, OWN, { value: true })
  // A worker would share its primary's port, and the app's primary be told of a server that is not the app's.
  const take = (): void => void server.listen({ host, port, exclusive: true })
  server.on('error', (error: NodeJS.ErrnoException) => {
    const isTaken = error.code === 'EADDRINUSE'
    if (isTaken && !over) timer = setTimeout(take, TRY_EVERY_MS).unref()
    failed(`${String(error)}.${isTaken ? ' Retrying every second.' : ''}`, isTaken)
  })
  take()
  return () => {
    over = true
    clearTimeout(timer)
  }
}

export function isOwn(server: Server): boolean {
  return OWN in server
}
