/**
 * Signals that are sent to end a process, held just long enough to say last words, while there are any to say: a
 * process that listens does not end as long as its event loop is stalled, which is a price only where something waits.
 *
 * Who listens to a signal keeps the process alive, so ours leaves before it lets the others look: libraries such as
 * signal-exit count the listeners to find out whether the process is to end, and the app's own decide as if we were
 * not there. If nobody else listens, the signal is sent again, and now it kills.
 */
import { clearTimeout, setImmediate, setTimeout } from 'node:timers'

/** They end a process by default; nodemon restarts with SIGUSR2. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2'] as const
type Held = (typeof SIGNALS)[number]

/** Listening is not for nothing (about 0.1 ms), and what waited once soon waits again. */
const LINGER_MS = 1000

export class HeldSignals {
  private readonly waits: () => boolean
  private held = false
  private forGood = false
  /** Something has waited since the last look. */
  private waited = false
  private nextLook: NodeJS.Timeout | undefined
  private readonly listeners = new Map<string, () => void>()

  /** `waits`: whether there is something to say. */
  constructor(speak: () => void, waits: () => boolean) {
    this.waits = waits
    for (const signal of SIGNALS) {
      this.listeners.set(signal, () => {
        if (!this.letThrough(signal)) return
        speak()
        process.kill(process.pid, signal)
      })
    }
    process.on('worker', this.onWorker)
  }

  /** Something waits. Costs next to nothing where that was so a second ago. */
  hold(): void {
    this.waited = true
    if (this.held) return
    this.held = true
    // Ctrl-C is to end what logs without end and without a turn of its loop.
    for (const signal of SIGNALS) if (signal !== 'SIGINT') this.arm(signal)
    setImmediate(() => this.arm('SIGINT')).unref()
    this.lookLater()
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
    process.removeListener('worker', this.onWorker)
    clearTimeout(this.nextLook)
    this.release()
  }

  /** Threads write to the descriptors themselves, and do not tell the main thread that something waits. */
  private readonly onWorker = (): void => {
    this.forGood = true
    this.hold()
  }

  /** Leaves between one and two LINGER_MS after everything was written. */
  private lookLater(): void {
    this.nextLook = setTimeout(() => {
      const keep = this.waited || this.forGood
      this.waited = this.waits()
      if (keep || this.waited) this.lookLater()
      else this.release()
    }, LINGER_MS).unref()
  }

  private release(): void {
    this.held = false
    for (const [signal, listener] of this.listeners) process.removeListener(signal, listener)
  }

  private arm(signal: Held): void {
    const listener = this.listeners.get(signal)!
    if (this.held && !process.listeners(signal).includes(listener)) process.prependListener(signal, listener)
  }
}
