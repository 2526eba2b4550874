/**
 * Tells meltlab how many guards this process has: a number, a line each, four times a second into a unix socket of the
 * lab. Keeps nothing alive, gives up for good when the lab is gone, and never throws into the app.
 */
import net from 'node:net'

const EVERY_MS = 250
/** A lab that reads no more gets no more. */
const MOST_UNREAD_BYTES = 65_536

export function reportTo(socketPath: string, guards: () => readonly unknown[]): void {
  const socket = net.connect(socketPath)
  socket.unref()
  const timer = setInterval(() => {
    if (socket.writableLength <= MOST_UNREAD_BYTES) socket.write(`${guards().length}\n`)
  }, EVERY_MS).unref()
  const stop = (): void => {
    clearInterval(timer)
    socket.destroy()
  }
  socket.on('error', stop)
  socket.on('close', stop)
  // Nothing is expected; without a reader a close by the lab would go unseen.
  socket.resume()
}
