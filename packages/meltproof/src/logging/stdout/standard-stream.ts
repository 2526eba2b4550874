/** The standard streams: their names, and where their bytes go. */
import type { Writable } from 'node:stream'
import { isMainThread } from 'node:worker_threads'
import { descriptorSink, type Handle, identityOf } from './descriptor-sink.ts'
import type { Sink } from './buffered-writer.ts'
import { streamSink } from './stream-sink.ts'

export type Fd = 1 | 2
export const STREAM_NAMES = { 1: 'stdout', 2: 'stderr' } as const

/** Undefined for a stream that can not be had, such as one whose descriptor is closed. */
export function standardStream(fd: Fd): Writable | undefined {
  try {
    const stream: Writable | undefined = process[STREAM_NAMES[fd]]
    return typeof stream?.write === 'function' ? stream : undefined
  } catch {
    return undefined
  }
}

/** Both are one pipe, terminal or file: `2>&1`. */
export function streamsAreOne(): boolean {
  const identity = identityOf(1)
  return isMainThread && identity !== undefined && identity === identityOf(2)
}

/** `ready` is called when a sink that was full may have room. */
export function standardSink(fd: Fd, stream: Writable, ready: () => void): Sink {
  const { fd: streamFd, isTTY, _handle: handle } = stream as { fd?: number; isTTY?: boolean; _handle?: Handle }
  if (!isMainThread || streamFd !== fd) return streamSink(stream, ready)
  const sink = descriptorSink(fd, isTTY === true, handle ?? undefined)
  const other = fd === 1 && streamsAreOne() ? standardStream(2) : undefined
  return afterEarlyWrites(sink, other === undefined ? [stream] : [stream, other])
}

/** What was written before us goes first, and as long as libuv writes it nothing of ours touches the descriptor. */
function afterEarlyWrites(sink: Sink, streams: readonly Writable[]): Sink {
  const early = new Set(streams.filter(({ writableLength }) => writableLength > 0))
  if (early.size === 0) return sink
  for (const stream of early) stream.write('', () => early.delete(stream))
  return { ...sink, write: output => (early.size > 0 ? 0 : sink.write(output)) }
}
