/**
 * Tells when the process is about to end, in time to write what waits: process.exit(), the natural end, an uncaught
 * exception, and signals that would end it, from others or by process.kill(). It changes none of them: the exit code
 * stays, and a process that a signal would have killed is killed by that signal.
 */
import { deadlySignal } from './deadly-signals.ts'
import { HeldSignals } from './exit-signals.ts'

export interface LastWords {
  /** There is something to say from now on: signals that end the process are held. */
  hold(): void
  undo(): void
}

/** `speak` must be quick, must not wait for the event loop, and may be called more than once. */
export function onEnd(speak: () => void, waits: () => boolean): LastWords {
  const signals = new HeldSignals(speak, waits)
  const undos = [afterExitListeners(speak), beforeReallyExit(speak), beforeKillingItself(speak, signals)]
  return {
    hold: () => signals.hold(),
    undo() {
      signals.undo()
      for (const undo of undos) undo()
    },
  }
}

type Method = (this: unknown, ...args: readonly unknown[]) => unknown

/** Puts `make(original, isOn)` in the place of a method of process. Undone, it only passes on if others stand in front. */
function replace(name: string, make: (original: Method, isOn: () => boolean) => Method): () => void {
  const host = process as unknown as Record<string, Method | undefined>
  const original = host[name]
  if (typeof original !== 'function') return () => undefined
  const hadOwn = Object.hasOwn(process, name)
  let on = true
  const ours = make(original, () => on)
  host[name] = ours
  return () => {
    on = false
    if (host[name] !== ours) return
    if (hadOwn) host[name] = original
    else Reflect.deleteProperty(process, name)
  }
}

/**
 * After every 'exit' listener, because they log: pino hands what its transport holds to its worker in one. Listeners
 * run in the order they were added, so no listener can be the last; process.emit() itself is, and it is what Node calls
 * in all of these cases.
 */
function afterExitListeners(speak: () => void): () => void {
  return replace(
    'emit',
    (original, isOn) =>
      function (...args) {
        if (args[0] !== 'exit' || !isOn()) return Reflect.apply(original, this, args)
        try {
          return Reflect.apply(original, this, args)
        } finally {
          speak()
        }
      },
  )
}

/** What process.exit() calls last: the only word of an exit() within an 'exit' listener, or of who calls it by itself. */
function beforeReallyExit(speak: () => void): () => void {
  return replace(
    'reallyExit',
    (original, isOn) =>
      function (...args) {
        if (isOn()) speak()
        return Reflect.apply(original, this, args)
      },
  )
}

/**
 * A signal that a process sends to itself and nobody listens for kills within kill(): handlers end by sending theirs
 * again. Ours would wait for a loop that may have nothing left to do.
 */
function beforeKillingItself(speak: () => void, signals: HeldSignals): () => void {
  return replace(
    'kill',
    (original, isOn) =>
      function (...args) {
        // 0 is the group that we are in.
        const own = Number(args[0]) === process.pid || args[0] === 0
        const signal = isOn() && own ? deadlySignal(args[1]) : undefined
        if (signal !== undefined && signals.letThrough(signal)) speak()
        return Reflect.apply(original, this, args)
      },
  )
}
