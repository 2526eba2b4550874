/** Handles Ctrl-C and similar signals: the first ends a run and keeps its figures, the second ends everything. */
import type { Progress } from '../progress.ts'
import { onSignal } from '../signals.ts'
import { UserError } from '../user-error.ts'

/** The first Ctrl-C aborts the returned signal. @param isTaken returns true if it handled the signal itself */
export function stopOnSignals(
  progress: Progress,
  isTaken: (signal: NodeJS.Signals) => boolean = () => false,
): AbortSignal {
  const controller = new AbortController()
  onSignal(({ by, signal, exitCode }) => {
    // The exit handler of launch/command.ts ends the processes that the lab started.
    if (controller.signal.aborted) process.exit(exitCode)
    progress.status('stopping')
    if (!isTaken(signal)) controller.abort(new UserError(`stopped by ${by}`, exitCode))
  })
  return controller.signal
}
