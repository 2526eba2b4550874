/**
 * SIGTERM drains first, and then the process ends as it would have: by the signal, or by what the app does about it. The
 * app's listeners wait until then, because many of them end the process at once. A second SIGTERM waits for nothing.
 */
import { constants } from 'node:os'
import { replaceMethod } from './replace-method.ts'

/** Kubernetes grants 30 s between SIGTERM and SIGKILL. */
const LEAST_DRAIN_MS = 25_000

interface Drainable {
  drain(timeoutMs: number): Promise<boolean>
}

/** `drainDelayMs`: how long servers go on accepting, if that is given; draining takes twice as long at most. */
export function drainOnSigterm(guards: () => readonly Drainable[], drainDelayMs = 0): void {
  let begun = false
  // With a listener, Node hands the signal to emit() and does not end.
  const listener = (): void => undefined
  const end = (): void => {
    undoEmit()
    process.removeListener('SIGTERM', listener)
    if (process.listenerCount('SIGTERM') > 0) process.emit('SIGTERM', 'SIGTERM')
    else {
      process.kill(process.pid, 'SIGTERM')
      // Process 1 of a container is ended by no such signal.
      process.exit(128 + constants.signals.SIGTERM)
    }
  }
  const undoEmit = replaceMethod(process, 'emit', (original, isOn) => (...args) => {
    if (args[0] !== 'SIGTERM' || !isOn()) return original(...args)
    const draining = begun ? [] : guards().map(guard => guard.drain(Math.max(LEAST_DRAIN_MS, 2 * drainDelayMs)))
    begun = true
    if (draining.length === 0) end()
    else void Promise.allSettled(draining).then(end)
    return true
  })
  process.on('SIGTERM', listener)
}
