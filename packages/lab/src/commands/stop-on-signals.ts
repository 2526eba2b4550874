/** Ctrl-C and its kin: the first ends a run and keeps its figures, the second ends everything at once. */
import type { Progress } from '../progress.ts'
import { onSignal } from '../signals.ts'
import { UserError } from '../user-error.ts'

/**
 * Aborted, with the reason to end with, by the first signal.
 * @param isTaken returns true where a signal ends the run in another way
 */
export function stopOnSignals(
  progress: Progress,
  isTaken: (signal: NodeJS.Signals) => boolean = () => false,
): AbortSignal {
  const controller = new AbortController()
  onSignal(({ by, signal, exitCode }) => {
    if (controller.signal.aborted) process.exit(exitCode) // the exit handler of launch/command.ts ends the processes we started
    progress.status('stopping')
    if (!isTaken(signal)) controller.abort(new UserError(`stopped by ${by}`, exitCode))
  })
  return controller.signal
}
