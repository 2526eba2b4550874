/** At the end of the process: writes what the readers accept in time, and reports how many lines were lost. */
import { now } from '../../clock.ts'
import type { BufferedWriter } from './buffered-writer.ts'
import { lastNotice } from './notices.ts'
import type { StdoutSettings } from './options.ts'
import { type Fd, STREAM_NAMES } from './standard-stream.ts'

/** A call later than this after the limit, ms, is another exit (the app survived a signal), with its own limit. */
const SAME_END_MS = 100

/** The returned function returns when everything is written, when the rest only fails, or after `flushMs`. */
export function finalFlush(writers: ReadonlyMap<Fd, BufferedWriter>, settings: StdoutSettings): () => void {
  let deadlineMs = 0
  return () => {
    const distinct = [...new Set(writers.values())]
    if (now() > deadlineMs + SAME_END_MS) deadlineMs = now() + settings.flushMs
    const cell = new Int32Array(new SharedArrayBuffer(4))
    while (isWaiting(distinct) && now() < deadlineMs) Atomics.wait(cell, 0, 0, 1)
    for (const writer of distinct) {
      const lines = writer.abandon()
      const stream = STREAM_NAMES[writer === writers.get(1) ? 1 : 2]
      if (lines > 0) distinct.find(each => each !== writer)?.addNotice(lastNotice(stream, lines))
    }
  }
}

function isWaiting(writers: readonly BufferedWriter[]): boolean {
  for (const writer of writers) if (!writer.idle) writer.flush(Number.POSITIVE_INFINITY)
  return writers.some(writer => !writer.idle && !writer.failing)
}
