/**
 * meltproof/culprit: names the line of the app that blocked the event loop. A worker thread (watcher.ts) notices a
 * stall and has the main thread read its own stack (samples.ts). After the stall, place.ts decides what is named.
 */
import { isMainThread } from 'node:worker_threads'
import { checkFunction, checkNumber, checkObject, rejectUnknown, showThrown } from '../options.ts'
import { safeWarning, warn } from '../warnings.ts'
import { Watching } from './watching.ts'

/** @experimental */
export interface CulpritOptions {
  /** Minimum duration of a stall to be named, ms from 50 to 60,000. @default 100 */
  readonly thresholdMs?: number
  /**
   * Receives messages about stalls, each place at most once a minute, and the reason if stalls cannot be named.
   * @default process.emitWarning
   */
  readonly onWarning?: (text: string) => void
}

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
  checkObject('watchStalls(options)', options, 'an object')
  rejectUnknown('watchStalls(options)', options, ['thresholdMs', 'onWarning'])
  const { thresholdMs = 100, onWarning } = options
  checkNumber('thresholdMs', thresholdMs, { min: 50, max: 60_000, unit: 'milliseconds' })
  checkFunction('onWarning', onWarning)
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
