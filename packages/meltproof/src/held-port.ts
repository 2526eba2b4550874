/** A port that is tried again while somebody else has it, and whose loss harms nobody. */
import type { Server } from 'node:net'

const TRY_EVERY_MS = 1000

/**
 * @param take listens
 * @param failed called once, the first time that it can not be had: why, and what happens next
 * @returns what ends the trying
 */
export function holdPort(server: Server, take: () => void, failed: (why: string) => void): () => void {
  let told = false
  let over = false
  let timer: NodeJS.Timeout | undefined
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
