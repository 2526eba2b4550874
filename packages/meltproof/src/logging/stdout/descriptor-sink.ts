/**
 * Writes to a file descriptor without ever waiting for its reader, and without libuv's thread pool: write(2) on a
 * descriptor that does not block.
 *
 * O_NONBLOCK belongs to the open file, which the parent shell and children that inherit the stream share. Setting it
 * there breaks them, and they unset it (libuv does whenever a child inherits descriptor 0, 1 or 2). So a pipe or a
 * terminal is opened anew through /proc, for an open file of our own. Where that is refused (a socket; a pipe of another
 * user, as in a container that does not run as root; no /proc) the shared one is used (nonblocking-flag.ts).
 */
import fs from 'node:fs'
import { type Handle, NonblockingFlag } from './nonblocking-flag.ts'
import type { Sink } from './sink.ts'

/** Pipes take up to PIPE_BUF bytes whole or not at all, so lines of several processes do not mix (pipe(7)). */
const PIPE_BUF = 4096
const OTHER_BATCH = 65_536

/** Kept from before patched-fs.ts stands in for them. */
const { writeSync, openSync, closeSync, fstatSync } = fs

export function descriptorSink(fd: number, isTerminal: boolean, handle: Handle | undefined): Sink {
  const stat = fstatSync(fd)
  const isPipe = isTerminal || stat.isFIFO()
  // Regular files and devices such as /dev/null: O_NONBLOCK means nothing to them, and opened anew a file would be
  // written from its beginning.
  const isFile = !isPipe && !stat.isSocket()
  let own = isPipe ? openAnew(fd) : undefined
  let flag = own === undefined && !isFile ? NonblockingFlag.of(fd, handle) : undefined
  return {
    batchBytes: isPipe ? PIPE_BUF : OTHER_BATCH,
    takesAll: isFile,
    write(output) {
      const changed = flag?.set() === true
      // A full pipe is met often, and is worth no stack trace.
      const { stackTraceLimit } = Error
      Error.stackTraceLimit = 0
      try {
        const target = own ?? fd
        return typeof output === 'string' ? writeSync(target, output) : writeSync(target, output, 0, output.length)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === 'EAGAIN' || code === 'EINTR') return 0
        throw error
      } finally {
        Error.stackTraceLimit = stackTraceLimit
        if (changed) flag!.clear()
      }
    },
    close() {
      const [ownBefore, flagBefore] = [own, flag]
      // The number may be somebody else's file at once.
      own = flag = undefined
      if (ownBefore !== undefined) closeSync(ownBefore)
      // Node writes to terminals in the call, and to pipes and sockets when its loop says there is room.
      flagBefore?.close(isTerminal ? 'blocking' : 'nonblocking')
    },
  }
}

/** The same for two descriptors of one pipe, terminal or file; undefined for one that is closed. */
export function identityOf(fd: number): string | undefined {
  try {
    const { dev, ino, rdev } = fstatSync(fd)
    return `${dev}:${ino}:${rdev}`
  } catch {
    return undefined
  }
}

function openAnew(fd: number): number | undefined {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = fs.constants
  try {
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    return undefined
  }
}
