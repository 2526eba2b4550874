/**
 * meltproof/stdout: after install(), writes to process.stdout and process.stderr do not wait for their readers.
 * docs/stdout.md describes the limits. stdout/patched-stream.ts and patched-fs.ts intercept the app's output,
 * buffered-writer.ts writes it, and exit-hooks.ts calls back when the process ends.
 */
import { isMainThread } from 'node:worker_threads'
import { logLosses } from '../channels.ts'
import { now } from '../clock.ts'
import { BufferedWriter, type WriterHooks } from './stdout/buffered-writer.ts'
import { ExitHooks } from './stdout/exit-hooks.ts'
import { NO_STATS, type StreamStats } from './stdout/line-queue.ts'
import { lastNotice, troubleNotice } from './stdout/notices.ts'
import { checkStdoutOptions, type StdoutOptions, type StdoutSettings } from './stdout/options.ts'
import { patchFs } from './stdout/patched-fs.ts'
import { patchStream, type StreamPatch } from './stdout/patched-stream.ts'
import { INSTALLED } from './stdout/installed.ts'
import { type Fd, STREAM_NAMES, standardSink, standardStream, streamsAreOne } from './stdout/standard-stream.ts'

export type { StdoutOptions } from './stdout/options.ts'
export type { StreamStats } from './stdout/line-queue.ts'

/** A flush that begins later than this after the last deadline, ms, gets a new one: the app has survived a signal. */
const SAME_END_MS = 100

/** Restores the streams; waiting output is passed to them. A second call does nothing. @experimental */
export interface Uninstall {
  (): void
  /** Counts since install(). If both streams are the same pipe or terminal, they share a buffer and these counts. */
  stats(): { readonly stdout: StreamStats; readonly stderr: StreamStats }
}

/**
 * Makes writes to the standard streams non-blocking, with a bounded buffer. A second call changes the options. In a
 * worker thread this does nothing: the thread's output goes through the streams of the main thread.
 * @throws MeltproofError with code MELTPROOF_OPTION_UNKNOWN or MELTPROOF_OPTION_INVALID.
 * @experimental
 */
export function install(options: StdoutOptions = {}): Uninstall {
  const settings = checkStdoutOptions(options)
  const host = process as { [INSTALLED]?: { readonly settings: StdoutSettings; readonly uninstall: Uninstall } }
  const before = host[INSTALLED]
  if (before !== undefined) {
    if (Object.keys(options).length > 0) Object.assign(before.settings, settings)
    return before.uninstall
  }
  const uninstall = bufferStreams(settings, () => Reflect.deleteProperty(host, INSTALLED))
  Object.defineProperty(host, INSTALLED, { value: { settings, uninstall }, configurable: true })
  return uninstall
}

/** @param forget called first when the streams are restored */
function bufferStreams(settings: StdoutSettings, forget: () => void): Uninstall {
  const writers = new Map<Fd, BufferedWriter>()
  const patches = new Map<Fd, StreamPatch>()
  const undos = [forget]
  let exitHooks: ExitHooks | undefined

  const hooksOf = (fd: Fd): WriterHooks => {
    const stream = STREAM_NAMES[fd]
    return {
      waits: () => exitHooks?.watchSignals(),
      trouble: error => {
        const other = writers.get(fd === 1 ? 2 : 1)
        if (other !== writers.get(fd)) other?.addNotice(troubleNotice(stream, error))
      },
      lost(lines, bytes) {
        if (logLosses.hasSubscribers) logLosses.publish({ stream, lines, bytes })
      },
    }
  }
  const buffer = (fd: Fd): void => {
    const stream = standardStream(fd)
    if (stream === undefined) return
    const first = writers.get(1)
    // One buffer keeps the order of both streams. A file accepts everything at once and needs no buffer.
    const shared = first !== undefined && !first.sink.takesAll && streamsAreOne() ? first : undefined
    const writer = shared ?? new BufferedWriter(standardSink(fd, stream), settings, hooksOf(fd))
    writers.set(fd, writer)
    patches.set(fd, patchStream(stream, writer))
  }

  // Windows has neither non-blocking descriptors nor /proc; its consoles and pipes stay as they are.
  if (isMainThread && process.platform !== 'win32') {
    buffer(1)
    buffer(2)
    undos.push(patchFs(writers))
    const isWaiting = (): boolean => [...writers.values()].some(writer => !writer.idle)
    const hooks = new ExitHooks(finalFlush(writers, settings), isWaiting)
    exitHooks = hooks
    undos.push(() => hooks.undo())
  }
  const uninstall = (): void => {
    if (undos.length === 0) return
    for (const undo of undos.splice(0)) undo()
    for (const [fd, writer] of writers) writer.handOver(patches.get(fd)!.writeOriginal)
    for (const patch of patches.values()) patch.undo()
  }
  const stats = (fd: Fd): StreamStats => writers.get(fd)?.stats ?? NO_STATS
  return Object.assign(uninstall, { stats: () => ({ stdout: stats(1), stderr: stats(2) }) })
}

/**
 * The returned function runs at the end of the process: it writes what the readers accept within `flushMs`, and reports
 * how many lines were lost. It returns earlier when everything is written, or when all remaining writes fail.
 */
function finalFlush(writers: ReadonlyMap<Fd, BufferedWriter>, settings: StdoutSettings): () => void {
  let deadlineMs = 0
  return () => {
    const distinct = [...new Set(writers.values())]
    if (now() > deadlineMs + SAME_END_MS) deadlineMs = now() + settings.flushMs
    const cell = new Int32Array(new SharedArrayBuffer(4))
    while (isLeftAfterFlush(distinct) && now() < deadlineMs) Atomics.wait(cell, 0, 0, 1)
    for (const writer of distinct) {
      const lines = writer.abandon()
      const stream = STREAM_NAMES[writer === writers.get(1) ? 1 : 2]
      if (lines > 0) distinct.find(each => each !== writer)?.addNotice(lastNotice(stream, lines))
    }
  }
}

function isLeftAfterFlush(writers: readonly BufferedWriter[]): boolean {
  for (const writer of writers) if (!writer.idle) writer.flush(Number.POSITIVE_INFINITY)
  return writers.some(writer => !writer.idle && !writer.failing)
}
