/**
 * A pipe whose reader takes {@link LINES_PER_S} lines a second, like a terminal on a slow connection. We assume that
 * the app of 2013 had such a reader; the cause was never established.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

export const LINES_PER_S = 80
/** Fills the pipe's buffer at once, which the log would otherwise fill only after a while. pipe(7): 65,536 bytes. */
const FILLER = `${'#'.repeat(255)}\n`.repeat(256)
const READ_MS = 20
const LINE_END = 10

export interface SlowLog {
  /** File descriptor for the service. The caller closes it once the service has inherited it. */
  readonly write: number
  close(): void
}

export function slowLog(folder: string): SlowLog {
  const name = path.join(folder, `log-${process.hrtime.bigint()}`)
  execFileSync('mkfifo', [name])
  const read = fs.openSync(name, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  const write = fs.openSync(name, fs.constants.O_WRONLY)
  fs.rmSync(name)
  fs.writeSync(write, FILLER)
  const buffer = Buffer.allocUnsafe(256)
  const beganAt = performance.now()
  let lines = 0
  const timer = setInterval(() => {
    const due = ((performance.now() - beganAt) * LINES_PER_S) / 1000
    while (lines < due) {
      const taken = take()
      // If the pipe is empty, the reader does not read faster later to catch up.
      if (taken === undefined) lines = due
      else lines += taken
    }
  }, READ_MS)
  /** Returns how many lines ended in the data that was read; undefined if there was no data. */
  const take = (): number | undefined => {
    try {
      const length = fs.readSync(read, buffer, 0, buffer.length, null)
      return length === 0 ? undefined : buffer.subarray(0, length).filter(byte => byte === LINE_END).length
    } catch {
      return undefined // EAGAIN: the pipe is empty
    }
  }
  return {
    write,
    close() {
      clearInterval(timer)
      fs.closeSync(read)
    },
  }
}
