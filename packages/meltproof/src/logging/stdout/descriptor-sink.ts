/**
 * Writes to a file descriptor without ever waiting for its reader, whatever it is, and without libuv's thread pool:
 * write(2) on a descriptor that does not block.
 *
 * O_NONBLOCK belongs to the open file description, which is shared with the parent shell, with children that inherit
 * the stream, and with whoever else wrote `2>&1`: setting it there breaks them, and they unset it (libuv does whenever
 * a child inherits descriptor 0, 1 or 2). So a pipe or a terminal is opened anew through /proc, which makes a
 * description of our own. Where that can not be done (a socket; a pipe of another user, as in a container that does
 * not run as root; no /proc) the shared one is used, and is as it was found again after every write (shared-flag.ts).
 */
import fs from 'node:fs'
import { type Handle, SharedFlag } from './nonblocking-flag.ts'
import type { Sink } from './sink.ts'

/** Pipes take up to PIPE_BUF bytes whole or not at all, so lines of several processes do not mix (pipe(7)). */
const PIPE_BUF = 4096
const OTHER_BATCH = 65_536

/** Kept from before anything of ours or of a test's stands in for them. */
const { writeSync, openSync, closeSync, fstatSync } = fs

export type SinkKind = 'pipe' | 'terminal' | 'socket' | 'file'

export function descriptorSink(fd: number, isTerminal: boolean, handle: Handle | undefined): Sink & { kind: SinkKind } {
  const kind = kindOf(fd, isTerminal)
  let own = kind === 'pipe' || kind === 'terminal' ? openAnew(fd) : undefined
  let flag = own === undefined && kind !== 'file' ? SharedFlag.of(fd, handle) : undefined
  return {
    kind,
    batchBytes: kind === 'pipe' || kind === 'terminal' ? PIPE_BUF : OTHER_BATCH,
    takesAll: kind === 'file',
    write(bytes) {
      const blocked = flag?.take()
      // A full pipe is no error worth a stack trace, and it is met often.
      const { stackTraceLimit } = Error
      Error.stackTraceLimit = 0
      try {
        const target = own ?? fd
        return typeof bytes === 'string' ? writeSync(target, bytes) : writeSync(target, bytes, 0, bytes.length)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === 'EAGAIN' || code === 'EINTR') return 0
        throw error
      } finally {
        Error.stackTraceLimit = stackTraceLimit
        if (blocked) flag?.giveBack(blocked)
      }
    },
    close() {
      const [closing, leaving] = [own, flag]
      // Its number may be somebody else's file at once.
      own = flag = undefined
      if (closing !== undefined) closeSync(closing)
      // Node writes to terminals in the call, and to pipes and sockets when its loop says there is room.
      leaving?.leave(kind === 'terminal')
    },
  }
}

/** What tells two descriptors of one pipe, terminal or file from two different ones; undefined when it is closed. */
export function identityOf(fd: number): string | undefined {
  try {
    const { dev, ino, rdev } = fstatSync(fd)
    return `${dev}:${ino}:${rdev}`
  } catch {
    return undefined
  }
}

function kindOf(fd: number, isTerminal: boolean): SinkKind {
  if (isTerminal) return 'terminal'
  const stat = fstatSync(fd)
  if (stat.isFIFO()) return 'pipe'
  if (stat.isSocket()) return 'socket'
  // Regular files and devices such as /dev/null: O_NONBLOCK means nothing to them, and opened anew a file would be
  // written from its beginning.
  return 'file'
}

function openAnew(fd: number): number | undefined {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = fs.constants
  try {
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    return undefined
  }
}
