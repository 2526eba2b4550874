/**
 * Ctrl-C and its kin. The handlers stand before anything else of the lab is loaded, so that no signal ends it without
 * its exit code, and until a command asks to be told each ends the process at once: there is nothing to keep yet.
 * Imports nothing of ours for that reason.
 *
 * A key that was pressed once comes twice where npm (`npx meltlab`) passes on what the terminal has sent to all of them.
 */
import process from 'node:process'

export interface Stop {
  readonly signal: NodeJS.Signals
  readonly exitCode: number
  /** `Ctrl-C`, or the name of the signal. */
  readonly by: string
}

/** Nobody presses a key again within this and means another thing by it. */
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

/** Signals come to `tell` instead, until the function that is returned is called. */
export function onSignal(tell: (stop: Stop) => void): () => void {
  toldOf = tell
  return () => {
    toldOf = undefined
  }
}
