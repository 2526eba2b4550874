/**
 * Signals that are sent to end a process, held just long enough to say last words.
 *
 * Who listens to a signal keeps the process alive, so ours leaves before it lets the others look: libraries such as
 * signal-exit count the listeners to find out whether the process is to end, and the app's own decide as if we were
 * not there. If nobody else listens, the signal is sent again, and now it kills.
 */
import { setImmediate } from 'node:timers'

/** They end a process by default; nodemon restarts with SIGUSR2. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2'] as const
type Held = (typeof SIGNALS)[number]

export class HeldSignals {
  private on = true
  private readonly listeners = new Map<string, () => void>()

  constructor(speak: () => void) {
    for (const signal of SIGNALS) {
      this.listeners.set(signal, () => {
        if (!this.letThrough(signal)) return
        speak()
        process.kill(process.pid, signal)
      })
      this.arm(signal)
    }
  }

  /** Steps aside until the loop's next turn. True if nobody else listens: the next such signal does what it does by default. */
  letThrough(signal: string): boolean {
    const listener = this.listeners.get(signal)
    if (listener !== undefined) {
      process.removeListener(signal, listener)
      // Whoever handles it may go on living; so does process 1 of a container, which no such signal kills.
      setImmediate(() => this.arm(signal as Held)).unref()
    }
    return process.listenerCount(signal) === 0
  }

  undo(): void {
    this.on = false
    for (const [signal, listener] of this.listeners) process.removeListener(signal, listener)
  }

  private arm(signal: Held): void {
    const listener = this.listeners.get(signal)!
    if (this.on && !process.listeners(signal).includes(listener)) process.prependListener(signal, listener)
  }
}
