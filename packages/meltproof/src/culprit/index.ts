/**
 * meltproof/culprit: says which line of the app held the event loop. A worker thread (watcher.ts) notices that the loop
 * stands still and has the main thread look at its own stack (samples.ts); when the stall is over, it is judged (place.ts).
 */
import { isMainThread } from 'node:worker_threads'
import { showThrown } from '../options.ts'
import { safeWarning, warnEach } from '../warnings.ts'
import { type CulpritOptions, checkCulpritOptions } from './options.ts'
import { Watching } from './watching.ts'

export type { CulpritOptions }

let watching: Watching | undefined

/**
 * From now on stalls of the event loop are named: in `explain()`, in `stats().stalls`, in the metrics, on spans, on the
 * channel `meltproof:culprit` and in a warning. Returns a function that ends it. While it is on already, and in a worker
 * thread, nothing happens. Where the process may start no thread, a warning says so.
 *
 * @experimental
 * @throws MeltproofError for an option that is unknown or out of range
 */
export function watchStalls(options: CulpritOptions = {}): () => void {
  const { thresholdMs, onWarning } = checkCulpritOptions(options)
  if (watching !== undefined || !isMainThread) return () => undefined
  const say = onWarning === undefined ? warnEach : safeWarning(onWarning)
  try {
    const started = new Watching(thresholdMs, say)
    watching = started
    return () => {
      started.close()
      if (watching === started) watching = undefined
    }
  } catch (error) {
    say(`meltproof cannot name stalls in this process. ${showThrown(error)}`)
    return () => undefined
  }
}
