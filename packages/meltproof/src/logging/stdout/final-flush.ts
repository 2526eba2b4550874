/** At the end of the process: writes what the readers accept in time, and reports how many lines were lost. */
import fs from 'node:fs'
import { now, wallClockMs } from '../../clock.ts'
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
      const fds = [...writers.keys()].filter(fd => writers.get(fd) === writer)
      const lines = writer.abandon()
      const streams = fds.map(fd => STREAM_NAMES[fd]).join(' and ')
      if (lines === 0 || appendLoss(settings.lossFile, streams, lines)) continue
      distinct.find(each => each !== writer)?.addNotice(lastNotice(streams, lines))
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

/** Returns false if the other stream must report the loss. */
function appendLoss(lossFile: string | undefined, stream: string, lost: number): boolean {
  if (lossFile === undefined) return false
  try {
    fs.appendFileSync(lossFile, `${JSON.stringify({ time: wallClockMs(), pid: process.pid, stream, lost })}\n`)
    return true
  } catch {
    return false
  }
}
