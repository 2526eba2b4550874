/**
 * The code of the worker thread. It sleeps until a heartbeat of the main thread is overdue, then has the main thread
 * sample its own stack repeatedly. V8 runs the sampling as an interrupt, in the middle of a loop or a regular
 * expression. Native code continues, and the sample is taken when it returns. The thread uses only `Runtime.evaluate`
 * of the inspector, on a session that is open only during a stall: no debugger is enabled, and no `debugger;` statement
 * pauses.
 *
 * The function is passed as text, so it must not use anything from outside.
 */
import type { SharedWords } from './shared-words.ts'

export interface WatcherData extends SharedWords {
  readonly expression: string
  /** When a stall that lasts is reported on stderr, ms after its start. */
  readonly lastingMs: readonly number[]
}

export function watch(require: (name: string) => never, now: () => number): void {
  const { parentPort, workerData } = require('node:worker_threads') as typeof import('node:worker_threads')
  const { Session } = require('node:inspector') as typeof import('node:inspector')
  type Session = import('node:inspector').Session
  const { writeSync } = require('node:fs') as typeof import('node:fs')
  const { words, times, expression, lastingMs } = workerData as WatcherData
  // Copies of the constants in shared-words.ts.
  const [TOKEN, PAUSED, NEVER, CONNECTED] = [0, 1, 2, 3]
  const [BEAT_AT, DUE_AT, ASKED_AT] = [0, 1, 2]
  const PAUSED_MS = 1000
  const LEAST_EVERY_MS = 10
  const MOST_EVERY_MS = 100
  /** A longer stall is sampled less often: about 60 samples in the first 2 s, and then ten per second. */
  const EVERY_SHARE = 1 / 20
  /** JavaScript answers within this time, ms. If not, native code runs or there is no CPU: the place is unknown. */
  const ANSWERS_MS = 20

  let session: Session | undefined

  /** The main thread sets PAUSED before it reads CONNECTED: it either prevents the session or learns of the session. */
  const connect = (use: (opened: Session) => void): void => {
    Atomics.store(words, CONNECTED, 1)
    try {
      if (Atomics.load(words, PAUSED) === 1) {
        restAgain()
        return
      }
      const opened = new Session()
      opened.connectToMainThread()
      session = opened
      use(opened)
    } catch (error) {
      fail(error)
    }
  }
  const disconnect = (): void => {
    // While a session is open, V8 keeps the arguments of console calls, and would do so for the life of the process.
    session?.post('Runtime.discardConsoleEntries')
    session?.disconnect()
    session = undefined
    Atomics.store(words, CONNECTED, 0)
    Atomics.notify(words, CONNECTED)
  }
  const fail = (error: unknown): void => {
    disconnect()
    parentPort!.postMessage(String(error))
  }
  const restAgain = (): void => {
    disconnect()
    setImmediate(rest)
  }

  /** Blocks this thread, which has nothing else to do. */
  const rest = (): void => {
    for (;;) {
      const paused = words[PAUSED] === 1
      const waitMs = paused ? PAUSED_MS : times[DUE_AT]! - now()
      if (waitMs <= 0) break
      Atomics.wait(words, NEVER, 0, Math.max(1, waitMs))
    }
    connect(look)
  }

  const look = (opened: Session): void => {
    const beatAt = times[BEAT_AT]!
    let place = 'unknown'
    let unansweredSinceMs = Number.POSITIVE_INFINITY
    let timer: NodeJS.Timeout | undefined
    const report = (afterMs: number): void => {
      if (times[BEAT_AT] !== beatAt) return
      const at = now() - unansweredSinceMs < ANSWERS_MS ? place : 'unknown'
      // A worker's process.stderr goes through the main thread, which is stalled.
      try {
        writeSync(2, `meltproof: the event loop has been stalled for ${afterMs / 1000} s, at ${at}\n`)
      } catch {} // The pipe is full.
    }
    const reports = lastingMs.map(afterMs => setTimeout(report, beatAt + afterMs - now(), afterMs))
    const end = (): void => {
      for (const each of [timer, ...reports]) clearTimeout(each)
      restAgain()
    }
    const ask = (): void => {
      if (times[BEAT_AT] !== beatAt || words[PAUSED] === 1) {
        end()
        return
      }
      times[ASKED_AT] = unansweredSinceMs = now()
      Atomics.add(words, TOKEN, 1)
      opened.post('Runtime.evaluate', { expression, returnByValue: true, silent: true }, (error, answer) => {
        if (error) {
          fail(error.message)
          return
        }
        place = String(answer.result.value)
        unansweredSinceMs = Number.POSITIVE_INFINITY
        const everyMs = Math.min(Math.max(LEAST_EVERY_MS, (now() - beatAt) * EVERY_SHARE), MOST_EVERY_MS)
        timer = setTimeout(ask, everyMs)
      })
    }
    ask()
  }

  // The main thread is about to exit. The listener keeps this thread alive, which a session does not.
  parentPort!.on('message', disconnect)
  // The first session loads and compiles code that later ones reuse.
  connect(opened => opened.post('Runtime.evaluate', { expression: '0' }, restAgain))
}
