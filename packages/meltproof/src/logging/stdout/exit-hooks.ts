/**
 * Calls back before the process ends, by itself or by a signal, to write waiting output. Exit codes and signals do not
 * change. It listens to signals only while output waits, because a process with listeners does not end while its event
 * loop is stalled. A listener removes itself before the others run, because libraries count listeners to find out
 * whether the process ends. If there are no other listeners, the signal is sent again.
 */
import type { EventEmitter } from 'node:events'
import { constants } from 'node:os'
import { clearTimeout, setImmediate, setTimeout } from 'node:timers'
import { replaceMethod } from '../../replace-method.ts'
import { OWN_LISTENER } from './installed.ts'

/** Signals that users and tools send to end a process; nodemon restarts with SIGUSR2. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR2'] as const

/** All signals that end a process by default (signal(7)), except those that Node handles: USR1, PROF, PIPE, XFSZ. */
const FATAL: readonly string[] = [
  ...[...SIGNALS, 'SIGKILL', 'SIGABRT', 'SIGALRM', 'SIGVTALRM', 'SIGXCPU'],
  ...['SIGILL', 'SIGTRAP', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGSYS'],
]

const NUMBERS: Readonly<Record<string, number>> = constants.signals

export function fatalSignal(signal: unknown): string | undefined {
  return FATAL.find(name => (typeof signal === 'number' ? NUMBERS[name] : name) === (signal || 'SIGTERM'))
}

/** How long the listeners stay once nothing waits, ms: adding them takes 0.1 ms, and output will soon wait again. */
const LINGER_MS = 1000

export class ExitHooks {
  private readonly isWaiting: () => boolean
  private readonly listeners: ReadonlyMap<string, () => void>
  private readonly undos: readonly (() => void)[]
  private watching = false
  private waited = false
  private nextLook: NodeJS.Timeout | undefined

  /** `beforeExit` must be quick, must not wait for the event loop, and may be called repeatedly. */
  constructor(beforeExit: () => void, isWaiting: () => boolean) {
    this.isWaiting = isWaiting
    const end = (signal: string): void => {
      if (!this.letThrough(signal)) return
      beforeExit()
      process.kill(process.pid, signal)
    }
    this.listeners = new Map(
      SIGNALS.map(signal => [signal, Object.assign(() => end(signal), { [OWN_LISTENER]: true })]),
    )
    this.undos = [
      // Runs after every 'exit' listener, because listeners may log, and none can be sure to be the last one.
      replaceMethod(process, 'emit', (original, isOn) => (...args) => {
        try {
          return original(...args)
        } finally {
          if (args[0] === 'exit' && isOn()) beforeExit()
        }
      }),
      // process.exit() calls reallyExit() last, and calls nothing else if it is called in an 'exit' listener.
      replaceMethod(process, 'reallyExit', (original, isOn) => (...args) => {
        if (isOn()) beforeExit()
        return original(...args)
      }),
      // A process that sends itself a signal ends within kill(). A listener would run only in the next turn.
      replaceMethod(process, 'kill', (original, isOn) => (...args) => {
        const [pid, given] = args
        const own = isOn() && (Number(pid) === process.pid || pid === 0) // 0 is the process group of this process.
        const signal = own ? fatalSignal(given) : undefined
        if (signal !== undefined && this.letThrough(signal)) beforeExit()
        return original(...args)
      }),
    ]
  }

  /** Called when output begins to wait. From then on signals are handled too. */
  watchSignals(): void {
    this.waited = true
    if (this.watching) return
    this.watching = true
    // SIGINT is added a turn later, so that Ctrl-C ends a program that logs forever in one turn of the loop.
    for (const signal of SIGNALS) if (signal !== 'SIGINT') this.listen(signal)
    setImmediate(() => this.listen('SIGINT')).unref()
    this.lookLater()
  }

  /** Removes the listener until the next turn. Returns true if no other is left, so the signal ends the process. */
  letThrough(signal: string): boolean {
    const listener = this.listeners.get(signal)
    if (listener !== undefined) {
      process.removeListener(signal, listener)
      // The listener is added again: the app may handle the signal, and process 1 of a container ignores it.
      setImmediate(() => this.listen(signal)).unref()
    }
    return process.listenerCount(signal) === 0
  }

  undo(): void {
    clearTimeout(this.nextLook)
    this.release()
    for (const undo of this.undos) undo()
  }

  /** Removes the listeners between one and two LINGER_MS after everything was written. */
  private lookLater(): void {
    this.nextLook = setTimeout(() => {
      const before = this.waited
      this.waited = this.isWaiting()
      if (before || this.waited) this.lookLater()
      else this.release()
    }, LINGER_MS).unref()
  }

  private release(): void {
    this.watching = false
    for (const [signal, listener] of this.listeners) process.removeListener(signal, listener)
  }

  private listen(signal: string): void {
    const listener = this.listeners.get(signal)!
    const emitter: EventEmitter = process
    if (this.watching && !emitter.listeners(signal).includes(listener)) emitter.prependListener(signal, listener)
  }
}
