/** Calls back when the process is about to end, in whatever way. Exit codes and signals stay as they are. */
import { ExitSignals, fatalSignal } from './exit-signals.ts'
import { replaceMethod } from '../../replace-method.ts'

export interface ExitHooks {
  /** Something waits from now on: listen to signals too. */
  watchSignals(): void
  undo(): void
}

/** `beforeExit` must be quick, must not wait for the event loop, and may be called more than once. */
export function onExit(beforeExit: () => void, isWaiting: () => boolean): ExitHooks {
  const signals = new ExitSignals(beforeExit, isWaiting)
  const undos = [
    // After every 'exit' listener, because they log. No listener can be sure to be the last.
    replaceMethod(process, 'emit', (original, isOn) => (...args) => {
      try {
        return original(...args)
      } finally {
        if (args[0] === 'exit' && isOn()) beforeExit()
      }
    }),
    // What process.exit() calls last, and all it calls within an 'exit' listener.
    replaceMethod(process, 'reallyExit', (original, isOn) => (...args) => {
      if (isOn()) beforeExit()
      return original(...args)
    }),
    // A process that sends itself a signal ends within kill(). A listener would wait for the next turn of the loop.
    replaceMethod(process, 'kill', (original, isOn) => (...args) => {
      const [pid, given] = args
      const own = isOn() && (Number(pid) === process.pid || pid === 0) // 0 is the group that we are in
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
