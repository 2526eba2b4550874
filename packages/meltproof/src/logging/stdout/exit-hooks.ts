/** Calls back before the process ends, by itself or by a signal. Exit codes and signals do not change. */
import { ExitSignals, fatalSignal } from './exit-signals.ts'
import { replaceMethod } from '../../replace-method.ts'

export interface ExitHooks {
  /** Called when output begins to wait. From then on signals are handled too. */
  watchSignals(): void
  undo(): void
}

/** `beforeExit` must be quick, must not wait for the event loop, and may be called repeatedly. */
export function onExit(beforeExit: () => void, isWaiting: () => boolean): ExitHooks {
  const signals = new ExitSignals(beforeExit, isWaiting)
  const undos = [
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
      if (signal !== undefined && signals.letThrough(signal)) beforeExit()
      return original(...args)
    }),
  ]
  return {
    watchSignals: () => signals.watch(),
    undo() {
      signals.undo()
      for (const undo of undos) undo()
    },
  }
}
