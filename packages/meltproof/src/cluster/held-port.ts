/** Opens a port of meltproof, and retries while another process uses it. A failure does not affect the app. */
import type { Server } from 'node:net'
import { clearTimeout, setTimeout } from 'node:timers'

export interface Address {
  readonly host: string
  readonly port: number
}

const TRY_EVERY_MS = 1000

/** Marks meltproof's own servers, which meltproof/register ignores. Every copy of meltproof uses the same symbol. */
const OWN: unique symbol = Symbol.for('meltproof.own-server') as never

/**
 * @param failed called at each failure, with its reason and whether another process uses the port
 * @returns a function that ends the attempts
 */
export function holdPort(
  server: Server,
  { host, port }: Address,
  failed: (why: string, isTaken: boolean) => void,
): () => void {
  let over = false
  let timer: NodeJS.Timeout | undefined
  Object.defineProperty(server, OWN, { value: true })
  // Without `exclusive`, a worker would get the port from the app's primary, which would see a server of meltproof.
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
