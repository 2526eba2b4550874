/**
 * Whether an open file that we share with others blocks at this moment. A child that inherits it expects it to block,
 * another Node process that logs to it expects it not to: so it is left as it was found.
 */
import fs from 'node:fs'

/** Kept from before patched-fs.ts stands in for its neighbours. */
const { openSync, readSync, closeSync } = fs

/** proc_pid_fdinfo(5): `pos:\t0\nflags:\t02004002\n...`, octal. */
const FLAGS = 'flags:'

export class BlockingState {
  /** Undefined where there is no /proc; then the file is taken to block. */
  private readonly info: number | undefined
  private readonly text = Buffer.alloc(64)

  constructor(fd: number) {
    try {
      this.info = openSync(`/proc/self/fdinfo/${fd}`, 'r')
    } catch {
      // See `info`.
    }
  }

  blocks(): boolean {
    if (this.info === undefined) return true
    try {
      const text = this.text.toString('latin1', 0, readSync(this.info, this.text, 0, this.text.length, 0))
      const flags = Number.parseInt(text.slice(text.indexOf(FLAGS) + FLAGS.length), 8)
      return (flags & fs.constants.O_NONBLOCK) === 0
    } catch {
      return true
    }
  }

  close(): void {
    if (this.info !== undefined) closeSync(this.info)
  }
}
