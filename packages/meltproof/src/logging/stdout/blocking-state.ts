/**
 * Reads whether an open file that other processes share is in blocking mode now. A child that inherits the file expects
 * blocking mode, and another Node process that logs to it expects the opposite. So the mode is restored after each
 * write.
 */
import fs from 'node:fs'

/** Read from fs before patched-fs.ts replaces some of its functions. */
const { openSync, readSync, closeSync } = fs

/** The field in proc_pid_fdinfo(5), `pos:\t0\nflags:\t02004002\n...`, in octal. */
const FLAGS = 'flags:'

export class BlockingState {
  /** Undefined without /proc. */
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
