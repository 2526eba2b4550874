/**
 * Reports to meltlab how many guards this process has: one number per line, four times a second, to a unix socket of
 * the lab. It does not keep the process alive, stops when the lab has ended, and never throws into the app.
 */
import net from 'node:net'
import { clearInterval, setInterval } from 'node:timers'

const EVERY_MS = 250
/** Nothing is written while this many bytes wait, because the lab does not read. */
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
  // The lab sends nothing, but its end is noticed only if the socket is read.
  socket.resume()
}
