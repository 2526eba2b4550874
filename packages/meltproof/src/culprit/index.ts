/**
 * meltproof/culprit: names the line of the app that blocked the event loop. A worker thread (watcher.ts) notices a
 * stall and has the main thread read its own stack (samples.ts). After the stall, place.ts decides what is named.
 */
import { isMainThread } from 'node:worker_threads'
import { showThrown } from '../options.ts'
import { safeWarning, warn } from '../warnings.ts'
import { type CulpritOptions, checkCulpritOptions } from './options.ts'
import { Watching } from './watching.ts'

export type { CulpritOptions }

let watching: Watching | undefined

/**
 * Names stalls of the event loop from now on: in `explain()`, in `stats().stalls`, in the metrics, on spans, on the
 * channel `meltproof:culprit` and in a warning. The returned function ends this. A second call, or one in a worker
 * thread, does nothing. If the process may not start a thread, a warning says so.
 *
 * @experimental
 * @throws MeltproofError for an option that is unknown or out of range
 */
export function watchStalls(options: CulpritOptions = {}): () => void {
  const { thresholdMs, onWarning } = checkCulpritOptions(options)
  if (watching !== undefined || !isMainThread) return () => undefined
  const say = onWarning === undefined ? warn : safeWarning(onWarning)
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
