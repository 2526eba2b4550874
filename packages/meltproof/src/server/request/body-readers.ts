/** Finds the app's listeners for the body of a request, without meltproof's own. */
import type { IncomingMessage } from 'node:http'

const OURS = new WeakSet<object>()

/** Calls `listener` when the whole body has been read. The listener does not count as a reader. */
export function onBodyEnd(request: IncomingMessage, listener: () => void): void {
  OURS.add(listener)
  request.once('end', listener)
}

export function hasReader(request: IncomingMessage): boolean {
  if (request.listenerCount('data') > 0 || request.listenerCount('readable') > 0) return true
  return request.listeners('end').some(listener => !OURS.has(listener))
}
