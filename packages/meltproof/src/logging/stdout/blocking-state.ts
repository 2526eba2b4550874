/**
 * Reads whether an open file that is shared with other processes blocks now. A child that inherits it expects it to
 * block, and another Node process that logs to it expects the opposite: so its state is restored after each write.
 */
import fs from 'node:fs'

/** Read from fs before patched-fs.ts replaces some of its functions. */
const { openSync, readSync, closeSync } = fs

/** The field in proc_pid_fdinfo(5), `pos:\t0\nflags:\t02004002\n...`, in octal. */
const FLAGS = 'flags:'

export class BlockingState {
  /** Undefined without /proc; then the file is assumed to block. */
  private readonly info: number | undefined
  private readonly text = Buffer.alloc(64)

  constructor(fd: number) {
    try {
      this.info = openSync(`/proc/self/fdinfo/${fd}`, 'r')
    } catch {
      // The file is assumed to block.
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
