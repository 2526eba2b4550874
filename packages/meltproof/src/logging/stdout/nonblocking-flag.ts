/**
 * O_NONBLOCK of an open file that we share with others: set for the time of one write, and then as it was found. A child
 * that inherits the descriptor expects it to block; another Node process that logs to it expects it not to.
 */
import fs from 'node:fs'

/** The handle Node has for a stream; undefined for files. */
export interface Handle {
  setBlocking?(blocking: boolean): number
}

/** Kept from before patched-fs.ts stands in for its neighbours. */
const { openSync, readSync, closeSync } = fs

/** proc_pid_fdinfo(5): `pos:\t0\nflags:\t02004002\n...`, octal. */
const FLAGS = 'flags:'

export class NonblockingFlag {
  private readonly setBlocking: (blocking: boolean) => void
  /** Read anew for every write; undefined where there is no /proc, and the file is taken to block. */
  private readonly info: number | undefined
  private readonly text: Buffer = Buffer.alloc(64)

  /** Undefined where Node has no way to set it. */
  static of(fd: number, handle: Handle | undefined): NonblockingFlag | undefined {
    return typeof handle?.setBlocking === 'function' ? new NonblockingFlag(fd, handle) : undefined
  }

  private constructor(fd: number, handle: Handle) {
    this.setBlocking = blocking => handle.setBlocking!(blocking)
    try {
      this.info = openSync(`/proc/self/fdinfo/${fd}`, 'r')
    } catch {
      // See `info`.
    }
  }

  /** Returns whether that changed it. */
  set(): boolean {
    const blocks = this.blocks()
    if (blocks) this.setBlocking(false)
    return blocks
  }

  clear(): void {
    this.setBlocking(true)
  }

  close(leave: 'blocking' | 'nonblocking'): void {
    this.setBlocking(leave === 'blocking')
    if (this.info !== undefined) closeSync(this.info)
  }

  private blocks(): boolean {
    if (this.info === undefined) return true
    try {
      const text = this.text.toString('latin1', 0, readSync(this.info, this.text, 0, this.text.length, 0))
      const flags = Number.parseInt(text.slice(text.indexOf(FLAGS) + FLAGS.length), 8)
      return (flags & fs.constants.O_NONBLOCK) === 0
    } catch {
      return true
    }
  }
}
