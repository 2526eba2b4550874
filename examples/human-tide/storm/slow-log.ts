/**
 * A pipe whose reader takes so many lines a second, as a terminal over a slow line does. This is how we explain what the app
 * of 2013 met; nobody has found out.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

export const LINES_PER_S = 80
/** What lies between a slow reader and a writer is full before long; this fills it at once. pipe(7): 65,536 bytes. */
const FILLER = `${'#'.repeat(255)}\n`.repeat(256)
const READ_MS = 20
const LINE_END = 10

export interface SlowLog {
  /** For the service; to be closed when it has it. */
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
      // What was not there to be read is no debt for later.
      if (taken === undefined) lines = due
      else lines += taken
    }
  }, READ_MS)
  /** How many lines ended in what was read; undefined when there is nothing. */
  const take = (): number | undefined => {
    try {
      const length = fs.readSync(read, buffer, 0, buffer.length, null)
      return length === 0 ? undefined : buffer.subarray(0, length).filter(byte => byte === LINE_END).length
    } catch {
      return undefined // EAGAIN: it waits for nobody
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
