/** At the end of the process: writes what the readers accept in time, and reports how many lines were lost. */
import fs from 'node:fs'
import { now, wallClockMs } from '../../clock.ts'
import type { BufferedWriter } from './buffered-writer.ts'
import { lastNotice } from './notices.ts'
import type { StdoutSettings } from './options.ts'
import { type Fd, STREAM_NAMES } from './standard-stream.ts'
import type { WorkerBacklog } from './worker-writer.ts'

/** A call later than this after the limit, ms, is another exit (the app survived a signal), with its own limit. */
const SAME_END_MS = 100

export class FinalFlush {
  private deadlineMs = 0

  /** Returns when everything is written, when the rest only fails, or after `flushMs`. */
  run(writers: ReadonlyMap<Fd, BufferedWriter>, backlog: WorkerBacklog | undefined, settings: StdoutSettings): void {
    const distinct = [...new Set(writers.values())]
    if (now() > this.deadlineMs + SAME_END_MS) this.deadlineMs = now() + settings.flushMs
    writeOut(distinct, this.deadlineMs, backlog)
    backlog?.close()
    for (const writer of distinct) {
      const fds = [...writers.keys()].filter(fd => writers.get(fd) === writer)
      const fromThreads = fds.reduce((sum, fd) => sum + (backlog?.takeLines(fd) ?? 0), 0)
      const lines = writer.abandon() + fromThreads
      const streams = fds.map(fd => STREAM_NAMES[fd]).join(' and ')
      if (lines === 0 || appendLoss(settings.lossFile, streams, lines)) continue
      distinct.find(each => each !== writer)?.addNotice(lastNotice(streams, lines))
    }
  }
}

/** Returns when everything is written, also by threads of `backlog`, when the rest only fails, or at `deadlineMs`. */
export function writeOut(writers: readonly BufferedWriter[], deadlineMs: number, backlog?: WorkerBacklog): void {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  while (isWaiting(writers, backlog) && now() < deadlineMs) Atomics.wait(cell, 0, 0, 1)
}

function isWaiting(writers: readonly BufferedWriter[], backlog: WorkerBacklog | undefined): boolean {
  for (const writer of writers) if (!writer.idle) writer.flush(Number.POSITIVE_INFINITY)
  const inThreads = (backlog?.lines(1) ?? 0) + (backlog?.lines(2) ?? 0)
  return inThreads > 0 || writers.some(writer => !writer.idle && !writer.failing)
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
