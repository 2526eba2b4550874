/** At the end of the process: writes what the readers accept in time, and reports how many lines were lost. */
import { now } from '../../clock.ts'
import type { BufferedWriter } from './buffered-writer.ts'
import { lastNotice } from './notices.ts'
import type { StdoutSettings } from './options.ts'
import { type Fd, STREAM_NAMES } from './standard-stream.ts'

/** A call later than this after the limit, ms, is another exit (the app survived a signal), with its own limit. */
const SAME_END_MS = 100

export class FinalFlush {
  private deadlineMs = 0

  /** Returns when everything is written, when the rest only fails, or after `flushMs`. */
  run(writers: ReadonlyMap<Fd, BufferedWriter>, settings: StdoutSettings): void {
    const distinct = [...new Set(writers.values())]
    if (now() > this.deadlineMs + SAME_END_MS) this.deadlineMs = now() + settings.flushMs
    writeOut(distinct, this.deadlineMs)
    for (const writer of distinct) {
      const lines = writer.abandon()
      const stream = STREAM_NAMES[writer === writers.get(1) ? 1 : 2]
      if (lines > 0) distinct.find(each => each !== writer)?.addNotice(lastNotice(stream, lines))
    }
  }
}

/** Returns when everything is written, when the rest only fails, or at `deadlineMs`. */
function writeOut(writers: readonly BufferedWriter[], deadlineMs: number): void {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  while (isWaiting(writers) && now() < deadlineMs) Atomics.wait(cell, 0, 0, 1)
}

function isWaiting(writers: readonly BufferedWriter[]): boolean {
  for (const writer of writers) if (!writer.idle) writer.flush(Number.POSITIVE_INFINITY)
  return writers.some(writer => !writer.idle && !writer.failing)
}
