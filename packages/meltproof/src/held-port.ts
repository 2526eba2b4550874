/** A port of our own that is tried again while somebody else has it, and whose loss harms nobody. */
import { Server } from 'node:net'

export interface Address {
  readonly host: string
  readonly port: number
}

const TRY_EVERY_MS = 1000
/** As it is before meltproof/register stands in its way: such a server is not one of the app's. */
const { listen } = Server.prototype

/**
 * @param failed called once, the first time that it can not be had: why, and what happens next
 * @returns what ends the trying
 */
export function holdPort(server: Server, { host, port }: Address, failed: (why: string) => void): () => void {
  let told = false
  let over = false
  let timer: NodeJS.Timeout | undefined
  // A worker would share its primary's port, and the app's primary be told of a server that is not the app's.
  const take = (): void => void listen.call(server, { host, port, exclusive: true })
  server.on('error', (error: NodeJS.ErrnoException) => {
    const taken = error.code === 'EADDRINUSE'
    if (taken && !over) timer = setTimeout(take, TRY_EVERY_MS).unref()
    if (told) return
    told = true
    failed(`${String(error)}.${taken ? ' It is tried again every second.' : ''}`)
  })
  take()
  return () => {
    over = true
    clearTimeout(timer)
  }
}
