/**
 * O_NONBLOCK of an open file that we share with others: taken for the time of one write, and given back as it was
 * found. A child that inherits the descriptor expects it to block (libuv sees to that when it starts one), and would
 * take EAGAIN for an error; another Node process expects it not to.
 *
 * Found, and not simply set to block each time: of two processes that log to one such file each would set it to block
 * while the other is about to write, and the other would wait for the reader.
 */
import fs from 'node:fs'

/** The handle Node has for a stream; undefined for files. */
export interface Handle {
  setBlocking?(blocking: boolean): number
}

/** Kept from before anything of ours or of a test's stands in for them. */
const { openSync, readSync, closeSync } = fs

/** proc_pid_fdinfo(5): `pos:\t0\nflags:\t02004002\n...`, octal. */
const FLAGS = 'flags:'

export class SharedFlag {
  private readonly set: (blocking: boolean) => void
  /** Read anew for every write; undefined where there is no /proc. */
  private readonly info: number | undefined
  private readonly text: Buffer = Buffer.alloc(64)

  /** Undefined where Node has no way to set it. */
  static of(fd: number, handle: Handle | undefined): SharedFlag | undefined {
    return typeof handle?.setBlocking === 'function' ? new SharedFlag(fd, handle) : undefined
  }

  private constructor(fd: number, handle: Handle) {
    this.set = blocking => void handle.setBlocking!(blocking)
    try {
      this.info = openSync(`/proc/self/fdinfo/${fd}`, 'r')
    } catch {
      // Then it is taken to block.
    }
  }

  /** From now on it does not block. Whether it did. */
  take(): boolean {
    const blocked = this.blocks()
    if (blocked) this.set(false)
    return blocked
  }

  giveBack(blocked: boolean): void {
    if (blocked) this.set(true)
  }

  /** For good, as Node wants it. */
  leave(blocking: boolean): void {
    this.set(blocking)
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
