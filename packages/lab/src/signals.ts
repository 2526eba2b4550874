/**
 * Handles Ctrl-C and similar signals. Imports no other file of the lab, so that it works while they are still loading.
 * Until a command subscribes, a signal ends the process at once. With npm (`npx meltlab`) one key press arrives twice,
 * because npm forwards the signal.
 */
import process from 'node:process'

export interface Stop {
  readonly signal: NodeJS.Signals
  readonly exitCode: number
  /** `Ctrl-C`, or the name of the signal. */
  readonly by: string
}

/** Signals within this time are one key press. */
const ONE_PRESS_MS = 400

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

let toldOf: ((stop: Stop) => void) | undefined

for (const [signal, exitCode] of Object.entries(EXIT_CODES) as [keyof typeof EXIT_CODES, number][]) {
  const stop: Stop = { signal, exitCode, by: signal === 'SIGINT' ? 'Ctrl-C' : signal }
  let isPressed = false
  process.on(signal, () => {
    if (isPressed) return
    isPressed = true
    setTimeout(() => {
      isPressed = false
    }, ONE_PRESS_MS).unref()
    if (toldOf !== undefined) return toldOf(stop)
    process.stderr.write(`meltlab: stopped by ${stop.by}\n`)
    process.exit(exitCode)
  })
}

/** Passes signals to `tell` until the returned function is called. */
export function onSignal(tell: (stop: Stop) => void): () => void {
  toldOf = tell
  return () => {
    toldOf = undefined
  }
}
