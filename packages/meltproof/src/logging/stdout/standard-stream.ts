import type { Writable } from 'node:stream'
import type { Sink } from './buffered-writer.ts'
import { descriptorSink, type Handle, identityOf } from './descriptor-sink.ts'

export type Fd = 1 | 2
export const STREAM_NAMES = { 1: 'stdout', 2: 'stderr' } as const

/** Undefined for a stream that cannot be opened, and for one that does not write to the descriptor. */
export function standardStream(fd: Fd): Writable | undefined {
  try {
    const stream: (Writable & { fd?: number }) | undefined = process[STREAM_NAMES[fd]]
    return stream?.fd === fd ? stream : undefined
  } catch {
    return undefined
  }
}

export function streamsAreOne(): boolean {
  const identity = identityOf(1)
  return identity !== undefined && identity === identityOf(2)
}

export function standardSink(fd: Fd, stream: Writable): Sink {
  const { isTTY, _handle: handle } = stream as { isTTY?: boolean; _handle?: Handle }
  const sink = descriptorSink(fd, isTTY === true, handle ?? undefined)
  const other = fd === 1 && streamsAreOne() ? standardStream(2) : undefined
  return afterEarlyWrites(sink, other === undefined ? [stream] : [stream, other])
}

/** Earlier writes go first: until libuv has written them, meltproof does not use the descriptor. */
function afterEarlyWrites(sink: Sink, streams: readonly Writable[]): Sink {
  const early = new Set(streams.filter(({ writableLength }) => writableLength > 0))
  if (early.size === 0) return sink
  for (const stream of early) stream.write('', () => early.delete(stream))
  return { ...sink, write: output => (early.size > 0 ? 0 : sink.write(output)) }
}
