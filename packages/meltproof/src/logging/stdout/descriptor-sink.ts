/**
 * Writes to a file descriptor without waiting for its reader: write(2) on a non-blocking descriptor.
 *
 * O_NONBLOCK belongs to the open file, which the parent shell and children that inherit the stream share. Setting it
 * permanently would break them, and they reset it (libuv does whenever a child inherits descriptor 0, 1 or 2). So a
 * pipe or a terminal is reopened through /proc, which gives a separate open file. Where that is impossible (a socket; a
 * pipe of another user, as in a container that does not run as root; no /proc), the flag of the shared file is set for
 * each write only, and then restored.
 */
import fs from 'node:fs'
import type { Sink } from './buffered-writer.ts'
import { byteLength, endOfPart, type Output } from './line-ends.ts'
import { quietly } from '../../warnings.ts'

export interface Handle {
  setBlocking?(blocking: boolean): number
}

/** Pipes accept up to PIPE_BUF bytes atomically, so lines of several processes do not mix (pipe(7)). */
const PIPE_BUF = 4096
const OTHER_BATCH = 65_536
/** The field in proc_pid_fdinfo(5), `pos:\t0\nflags:\t02004002\n...`, in octal. */
const FLAGS = 'flags:'
const infoBytes = Buffer.alloc(64)

/** Read from fs before patched-fs.ts replaces some of its functions. */
const { writeSync, openSync, readSync, closeSync, fstatSync } = fs
const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = fs.constants

export function descriptorSink(fd: number, isTerminal: boolean, handle: Handle | undefined): Sink {
  const stat = fstatSync(fd)
  const isPipe = isTerminal || stat.isFIFO()
  // Regular files and /dev/null ignore O_NONBLOCK, and a reopened file would be overwritten from its beginning.
  const isFile = !isPipe && !stat.isSocket()
  let own = isPipe ? quietly(() => openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)) : undefined
  let shared = own === undefined && !isFile && handle?.setBlocking !== undefined ? handle : undefined
  let info = shared && quietly(() => openSync(`/proc/self/fdinfo/${fd}`, 'r'))
  const batchBytes = isPipe ? PIPE_BUF : OTHER_BATCH
  const writeOnce = (output: Output): number => {
    const blocks = shared !== undefined && isBlocking(info)
    if (blocks) shared?.setBlocking?.(false)
    // An error for a full pipe is frequent, and needs no stack trace.
    const { stackTraceLimit } = Error
    // Assigning would throw where `Error` is frozen.
    Reflect.set(Error, 'stackTraceLimit', 0)
    try {
      const target = own ?? fd
      return typeof output === 'string' ? writeSync(target, output) : writeSync(target, output, 0, output.length)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EAGAIN' || code === 'EINTR') return 0
      throw error
    } finally {
      Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
      if (blocks) shared?.setBlocking?.(true)
    }
  }
  return {
    batchBytes,
    takesAll: isFile,
    write: output =>
      isPipe && byteLength(output) > batchBytes ? writeParts(output, batchBytes, writeOnce) : writeOnce(output),
    close() {
      const [opened, sharedBefore] = [[own, info], shared]
      // The descriptor numbers may be reused for other files at once.
      own = shared = info = undefined
      for (const each of opened) if (each !== undefined) closeSync(each)
      // Node writes to terminals synchronously, and to pipes and sockets when its loop reports room.
      sharedBefore?.setBlocking?.(isTerminal)
    },
  }
}

/** Writes many lines: each write has whole lines only, so that output of other writers falls between lines. */
function writeParts(output: Output, partBytes: number, write: (part: Uint8Array) => number): number {
  const bytes = typeof output === 'string' ? Buffer.from(output) : output
  let at = 0
  while (at < bytes.length) {
    const end = endOfPart(bytes, at, partBytes)
    const taken = write(bytes.subarray(at, end))
    at += taken
    if (taken === 0 || at < end) break
  }
  return at
}

/**
 * Reads whether an open file that other processes share is in blocking mode now. A child that inherits the file expects
 * blocking mode, and another Node process that logs to it expects the opposite. So the mode is restored after each
 * write.
 * @param info its file in /proc/self/fdinfo. Without one, the file is assumed to block.
 */
function isBlocking(info: number | undefined): boolean {
  if (info === undefined) return true
  try {
    const text = infoBytes.toString('latin1', 0, readSync(info, infoBytes, 0, infoBytes.length, 0))
    const flags = Number.parseInt(text.slice(text.indexOf(FLAGS) + FLAGS.length), 8)
    return (flags & O_NONBLOCK) === 0
  } catch {
    return true
  }
}
