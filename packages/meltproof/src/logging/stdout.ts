/**
 * meltproof/stdout: from install() on, what is written to process.stdout and process.stderr, by whatever logger, waits
 * for nobody. See docs/stdout.md for what that means at the edges.
 */
import fs from 'node:fs'
import type { Writable } from 'node:stream'
import { isatty } from 'node:tty'
import { isMainThread } from 'node:worker_threads'
import { logLosses } from '../channels.ts'
import { now, wallClockMs } from '../clock.ts'
import { descriptorSink, identityOf } from './stdout/descriptor-sink.ts'
import { takeOverDescriptors } from './stdout/patched-fs.ts'
import { type LastWords, onEnd } from './stdout/exit-hooks.ts'
import { lastNotice, troubleNotice } from './stdout/notices.ts'
import { Outlet, type OutletHooks, type OutletStats } from './stdout/buffered-writer.ts'
import { type Patch, patchStream } from './stdout/patched-stream.ts'
import { relaySink } from './stdout/stream-sink.ts'
import type { Handle } from './stdout/nonblocking-flag.ts'
import type { Sink } from './stdout/sink.ts'
import { checkStdoutOptions, type StdoutOptions, type StdoutSettings } from './stdout/options.ts'
import { ThreadLedger } from './stdout/worker-backlog.ts'
import { ThreadOutlet } from './stdout/worker-writer.ts'

export type { StdoutOptions } from './stdout/options.ts'
export type { OutletStats } from './stdout/buffered-writer.ts'

/** Gives the streams back what they were; what waits is handed to them. */
export interface Uninstall {
  (): void
  /** What went through so far. Where both streams are one pipe or terminal they share a buffer, and these figures. */
  stats(): { readonly stdout: OutletStats; readonly stderr: OutletStats }
}

type Fd = 1 | 2
const NAMES = { 1: 'stdout', 2: 'stderr' } as const

interface Installed {
  readonly uninstall: Uninstall
  configure(settings: StdoutSettings): void
}

/** Shared by every installed copy of meltproof: two of them must not stand behind each other. */
const INSTALLED = Symbol.for('meltproof.stdout')

/**
 * Makes writes to the standard streams non-blocking, with a bounded buffer. Called again, it changes the options.
 * @throws MeltproofError with code MELTPROOF_OPTION_UNKNOWN or MELTPROOF_OPTION_INVALID.
 */
export function install(options: StdoutOptions = {}): Uninstall {
  const settings = checkStdoutOptions(options)
  const host = process as { [INSTALLED]?: Installed }
  const before = host[INSTALLED]
  if (before !== undefined) {
    if (Object.keys(options).length > 0) before.configure(settings)
    return before.uninstall
  }
  const installed = new Streams(settings, () => Reflect.deleteProperty(host, INSTALLED))
  Object.defineProperty(host, INSTALLED, { value: installed, configurable: true })
  return installed.uninstall
}

class Streams implements Installed {
  readonly uninstall: Uninstall
  private settings: StdoutSettings
  private readonly ledger = ThreadLedger.ofProcess()
  private readonly outlets = new Map<Fd, Outlet>()
  /** Worker threads: what they write to the descriptors themselves. */
  private readonly threadOutlets = new Map<Fd, Outlet>()
  private readonly streams = new Map<Fd, Writable>()
  private readonly patches = new Map<Fd, Patch>()
  private readonly undo: (() => void)[] = []
  private lastWords: LastWords | undefined
  private deadlineMs = 0

  constructor(settings: StdoutSettings, forget: () => void) {
    this.settings = settings
    // Windows has neither descriptors that do not block nor /proc; its consoles and pipes stay as they are.
    if (process.platform !== 'win32') this.take()
    this.uninstall = Object.assign(
      () => {
        forget()
        this.giveBack()
      },
      { stats: () => ({ stdout: this.stats(1), stderr: this.stats(2) }) },
    )
  }

  configure(settings: StdoutSettings): void {
    this.settings = { ...settings, descriptors: this.settings.descriptors }
    for (const outlet of this.all()) outlet.configure(settings)
  }

  private take(): void {
    for (const fd of [1, 2] as const) {
      const stream = streamOf(fd)
      if (stream === undefined) continue
      const shared = fd === 2 && this.sharesOne() ? this.outlets.get(1) : undefined
      const outlet = shared ?? new Outlet(this.sinkOf(fd, stream), this.settings, this.hooksOf(fd))
      this.outlets.set(fd, outlet)
      this.streams.set(fd, stream)
      this.patches.set(fd, patchStream(stream, outlet))
    }
    if (this.settings.descriptors) this.undo.push(takeOverDescriptors(fd => this.outletOf(fd as Fd)))
    if (!isMainThread) {
      this.undo.push(onThreadEnd(() => this.handOver()))
      return
    }
    const waits = (): boolean => [...this.all()].some(outlet => !outlet.idle)
    const lastWords = onEnd(() => this.finish(), waits)
    this.lastWords = lastWords
    this.undo.push(() => lastWords.undo())
  }

  /** `2>&1`, or a terminal: one buffer keeps the order of both. A file takes everything at once and needs none. */
  private sharesOne(): boolean {
    const first = this.outlets.get(1)
    if (!isMainThread || first === undefined || first.sink.takesAll) return false
    const identity = identityOf(1)
    return identity !== undefined && identity === identityOf(2)
  }

  private sinkOf(fd: Fd, stream: Writable): Sink {
    const { write } = stream
    if (!isMainThread || (stream as { fd?: number }).fd !== fd) {
      return relaySink(
        (bytes, done) => Reflect.apply(write, stream, [bytes, done]),
        () => this.outlets.get(fd)?.flush(),
      )
    }
    const { isTTY, _handle: handle } = stream as { isTTY?: boolean; _handle?: Handle }
    const sink = descriptorSink(fd, isTTY === true, handle ?? undefined)
    const other = fd === 1 && identityOf(1) === identityOf(2) ? streamOf(2) : undefined
    return afterEarlyWrites(sink, other === undefined ? [stream] : [stream, other])
  }

  private outletOf(fd: Fd): Outlet | undefined {
    if (isMainThread) return this.outlets.get(fd)
    const { ledger } = this
    let outlet = this.threadOutlets.get(fd)
    if (outlet === undefined && ledger !== undefined) {
      const sink = descriptorSink(fd, isatty(fd), undefined)
      outlet = new ThreadOutlet(fd, ledger, sink, this.settings, this.hooksOf(fd))
      this.threadOutlets.set(fd, outlet)
    }
    return outlet
  }

  private hooksOf(fd: Fd): OutletHooks {
    const streams = (): Writable[] =>
      [...this.streams].filter(([each]) => this.outlets.get(each) === this.outlets.get(fd)).map(([, stream]) => stream)
    return {
      waits: () => this.lastWords?.hold(),
      trouble: trouble => this.otherThan(fd)?.note(troubleNotice(NAMES[fd], trouble)),
      lost(lines, bytes) {
        if (logLosses.hasSubscribers) logLosses.publish({ stream: NAMES[fd], lines, bytes })
      },
      drained() {
        for (const stream of streams()) stream.emit('drain')
      },
      awaited: () => streams().some(stream => stream.listenerCount('drain') > 0),
      failed(error) {
        // A program that ends when its reader has gone says so by listening; nobody else is to die of it.
        for (const stream of streams()) if (stream.listenerCount('error') > 0) stream.emit('error', error)
      },
    }
  }

  private otherThan(fd: Fd): Outlet | undefined {
    const other = this.outlets.get(fd === 1 ? 2 : 1)
    return other === this.outlets.get(fd) ? undefined : other
  }

  private all(): Set<Outlet> {
    return new Set([...this.outlets.values(), ...this.threadOutlets.values()])
  }

  /** The process ends: write what the readers take in time, and say what they did not. */
  private finish(): void {
    // One limit for everything that comes together; a later end, after a signal that did not kill, has its own.
    if (now() > this.deadlineMs + 100) this.deadlineMs = now() + this.settings.flushMs
    const cell = new Int32Array(new SharedArrayBuffer(4))
    for (;;) {
      let waits = (this.ledger?.owed(1) ?? 0) + (this.ledger?.owed(2) ?? 0) > 0
      for (const outlet of this.all()) {
        if (!outlet.idle) outlet.flush(Number.POSITIVE_INFINITY)
        waits ||= !outlet.idle && !outlet.failing
      }
      if (!waits || now() >= this.deadlineMs) break
      Atomics.wait(cell, 0, 0, 1)
    }
    this.ledger?.close()
    for (const [fd, outlet] of this.outlets) {
      const together = this.otherThan(fd) === undefined
      if (together && fd === 2 && this.outlets.size > 1) continue
      const fromThreads = this.ledger?.takeOwed(fd) ?? 0
      const more = together ? (this.ledger?.takeOwed(2) ?? 0) : 0
      const lines = outlet.abandon() + fromThreads + more
      if (lines > 0) this.tellLoss(fd, together ? 'stdout and stderr' : NAMES[fd], lines)
    }
  }

  private tellLoss(fd: Fd, stream: string, lines: number): void {
    const { lossFile } = this.settings
    if (lossFile !== undefined) {
      try {
        fs.appendFileSync(
          lossFile,
          `${JSON.stringify({ time: wallClockMs(), pid: process.pid, stream, lost: lines })}\n`,
        )
        return
      } catch {
        // Then the other stream has to do.
      }
    }
    this.otherThan(fd)?.note(lastNotice(stream, lines))
  }

  private giveBack(): void {
    for (const undo of this.undo) undo()
    this.handOver()
    for (const patch of this.patches.values()) patch.undo()
  }

  private handOver(): void {
    for (const outlet of this.all()) {
      const [fd] = [...this.outlets].find(([, each]) => each === outlet) ?? []
      if (fd === undefined) outlet.flush(Number.POSITIVE_INFINITY)
      else outlet.handOver(bytes => this.patches.get(fd)!.writeOriginal(bytes))
    }
  }

  private stats(fd: Fd): OutletStats {
    return this.outlets.get(fd)?.stats ?? { written: 0, waiting: 0, lost: 0, lostBytes: 0, bufferedBytes: 0 }
  }
}

/** What was written before us goes first, and as long as libuv writes it nothing of ours touches the descriptor. */
function afterEarlyWrites(sink: Sink, streams: readonly Writable[]): Sink {
  const early = new Set(streams.filter(({ writableLength }) => writableLength > 0))
  if (early.size === 0) return sink
  for (const stream of early) stream.write('', () => early.delete(stream))
  return { ...sink, write: bytes => (early.size > 0 ? 0 : sink.write(bytes)) }
}

function onThreadEnd(speak: () => void): () => void {
  process.on('exit', speak)
  return () => process.removeListener('exit', speak)
}

/** Undefined for a stream that can not be had, such as one whose descriptor is closed. */
function streamOf(fd: Fd): Writable | undefined {
  try {
    const stream: Writable | undefined = process[NAMES[fd]]
    return typeof stream?.write === 'function' ? stream : undefined
  } catch {
    return undefined
  }
}
