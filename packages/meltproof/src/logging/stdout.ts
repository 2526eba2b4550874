/**
 * meltproof/stdout: after install(), writes to process.stdout and process.stderr do not wait for their readers.
 * docs/stdout.md describes the limits. stdout/patched-stream.ts and patched-fs.ts intercept the app's output,
 * buffered-writer.ts writes it, and exit-hooks.ts and final-flush.ts run when the process ends.
 */
import { isMainThread } from 'node:worker_threads'
import { logLosses } from '../channels.ts'
import { BufferedWriter, type WriterHooks } from './stdout/buffered-writer.ts'
import { ExitHooks } from './stdout/exit-hooks.ts'
import { FinalFlush } from './stdout/final-flush.ts'
import { NO_STATS, type StreamStats } from './stdout/line-queue.ts'
import { troubleNotice } from './stdout/notices.ts'
import { checkStdoutOptions, type StdoutOptions, type StdoutSettings } from './stdout/options.ts'
import { patchFs } from './stdout/patched-fs.ts'
import { patchStream, type StreamPatch } from './stdout/patched-stream.ts'
import { INSTALLED } from './stdout/installed.ts'
import { type Fd, STREAM_NAMES, standardSink, standardStream, streamsAreOne } from './stdout/standard-stream.ts'

export type { StdoutOptions } from './stdout/options.ts'
export type { StreamStats } from './stdout/line-queue.ts'

/** Restores the streams; waiting output is passed to them. @experimental */
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
  const host = process as { [INSTALLED]?: Pick<BufferedStreams, 'uninstall' | 'settings'> }
  const before = host[INSTALLED]
  if (before !== undefined) {
    if (Object.keys(options).length > 0) Object.assign(before.settings, settings)
    return before.uninstall
  }
  const installed = new BufferedStreams(settings, () => Reflect.deleteProperty(host, INSTALLED))
  Object.defineProperty(host, INSTALLED, { value: installed, configurable: true })
  return installed.uninstall
}

class BufferedStreams {
  readonly uninstall: Uninstall
  readonly settings: StdoutSettings
  private readonly writers = new Map<Fd, BufferedWriter>()
  private readonly patches = new Map<Fd, StreamPatch>()
  private exitHooks: ExitHooks | undefined
  private readonly undos: (() => void)[] = []

  constructor(settings: StdoutSettings, forget: () => void) {
    this.settings = settings
    // Windows has neither non-blocking descriptors nor /proc; its consoles and pipes stay as they are.
    if (isMainThread && process.platform !== 'win32') this.patch()
    const uninstall = (): void => {
      forget()
      for (const undo of this.undos) undo()
      this.handOver()
      for (const patch of this.patches.values()) patch.undo()
    }
    const stats = (fd: Fd): StreamStats => this.writers.get(fd)?.stats ?? NO_STATS
    this.uninstall = Object.assign(uninstall, { stats: () => ({ stdout: stats(1), stderr: stats(2) }) })
  }

  private patch(): void {
    this.patchStream(1)
    this.patchStream(2)
    this.undos.push(patchFs(this.writers))
    const finalFlush = new FinalFlush()
    const isWaiting = (): boolean => [...this.writers.values()].some(writer => !writer.idle)
    const hooks = new ExitHooks(() => finalFlush.run(this.writers, this.settings), isWaiting)
    this.exitHooks = hooks
    this.undos.push(() => hooks.undo())
  }

  private patchStream(fd: Fd): void {
    const stream = standardStream(fd)
    if (stream === undefined) return
    const first = this.writers.get(1)
    // One buffer keeps the order of both streams. A file accepts everything at once and needs no buffer.
    const shared = first !== undefined && !first.sink.takesAll && streamsAreOne() ? first : undefined
    const writer = shared ?? new BufferedWriter(standardSink(fd, stream), this.settings, this.hooksOf(fd))
    this.writers.set(fd, writer)
    this.patches.set(fd, patchStream(stream, writer))
  }

  private hooksOf(fd: Fd): WriterHooks {
    const stream = STREAM_NAMES[fd]
    return {
      waits: () => this.exitHooks?.watchSignals(),
      trouble: error => {
        const other = this.writers.get(fd === 1 ? 2 : 1)
        if (other !== this.writers.get(fd)) other?.addNotice(troubleNotice(stream, error))
      },
      lost(lines, bytes) {
        if (logLosses.hasSubscribers) logLosses.publish({ stream, lines, bytes })
      },
    }
  }

  private handOver(): void {
    for (const [fd, writer] of this.writers) writer.handOver(this.patches.get(fd)!.writeOriginal)
  }
}
