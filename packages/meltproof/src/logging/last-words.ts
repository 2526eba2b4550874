/**
 * Tells when the process is about to end, in time to write what waits: process.exit(), the natural end, an uncaught
 * exception, and signals that would end it. It changes none of them: the exit code stays, and a process that a signal
 * would have killed is killed by that signal.
 */
import { setImmediate } from 'node:timers'

/** Signals that end a process by default and are sent to end one. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const

/** `speak` must be quick, must not wait for the event loop, and may be called more than once. Returns what undoes it. */
export function onEnd(speak: () => void): () => void {
  const undoExit = afterExitListeners(speak)
  const undoSignals = onDeadlySignals(speak)
  return () => {
    undoExit()
    undoSignals()
  }
}

/**
 * After every 'exit' listener, because they log: pino hands what its transport holds to its worker in one. Listeners
 * run in the order they were added, so no listener can be the last; process.emit() itself is, and it is what Node calls
 * in all of these cases.
 */
function afterExitListeners(speak: () => void): () => void {
  const original = process.emit
  const hadOwn = Object.hasOwn(process, 'emit')
  let on = true
  const emit = function (this: NodeJS.Process, ...args: [string, ...unknown[]]): boolean {
    if (args[0] !== 'exit' || !on) return Reflect.apply(original, this, args) as boolean
    try {
      return Reflect.apply(original, this, args) as boolean
    } finally {
      speak()
    }
  } as NodeJS.Process['emit']
  process.emit = emit
  return () => {
    on = false
    if (process.emit !== emit) return // somebody stands in front of us; we only pass on
    if (hadOwn) process.emit = original
    else Reflect.deleteProperty(process, 'emit')
  }
}

/**
 * Who listens to a signal keeps the process alive, so ours leaves before it lets the others look: libraries such as
 * signal-exit count the listeners to find out whether the process is to end, and the app's own decide as if we were
 * not there. If nobody else listens, the signal is sent again, and now it kills.
 */
function onDeadlySignals(speak: () => void): () => void {
  let on = true
  const listeners = new Map<string, () => void>()
  const arm = (signal: NodeJS.Signals): void => {
    if (on && !process.listeners(signal).includes(listeners.get(signal) as never)) {
      process.prependListener(signal, listeners.get(signal)!)
    }
  }
  for (const signal of SIGNALS) {
    listeners.set(signal, () => {
      process.removeListener(signal, listeners.get(signal)!)
      if (process.listenerCount(signal) === 0) {
        speak()
        process.kill(process.pid, signal)
      }
      // Whoever handles it may go on living; so does process 1 of a container, which no such signal kills.
      setImmediate(arm, signal).unref()
    })
    arm(signal)
  }
  return () => {
    on = false
    for (const [signal, listener] of listeners) process.removeListener(signal, listener)
  }
}
