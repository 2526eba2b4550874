import { fstatSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { quietly } from '../../warnings.ts'
import type { Sink } from './buffered-writer.ts'
import { descriptorSink, type Handle } from './descriptor-sink.ts'

export type Fd = 1 | 2
export const STREAM_NAMES = { 1: 'stdout', 2: 'stderr' } as const

/** Undefined for a stream that cannot be opened, and for one that does not write to the descriptor. */
export function standardStream(fd: Fd): Writable | undefined {
  const stream: (Writable & { fd?: number }) | undefined = quietly(() => process[STREAM_NAMES[fd]])
  return stream?.fd === fd ? stream : undefined
}

/** True if both descriptors are one pipe, terminal or file. */
export function streamsAreOne(): boolean {
  const [out, err] = quietly(() => [fstatSync(1), fstatSync(2)] as const) ?? []
  return out !== undefined && out.dev === err?.dev && out.ino === err.ino && out.rdev === err.rdev
}

export function standardSink(fd: Fd, stream: Writable): Sink {
  const { isTTY, _handle: handle } = stream as { isTTY?: boolean; _handle?: Handle }
  const sink = descriptorSink(fd, isTTY === true, handle ?? undefined)
  const other = fd === 1 && streamsAreOne() ? standardStream(2) : undefined
  // Earlier writes go first: until libuv has written them, meltproof does not use the descriptor.
  const early = new Set([stream, other ?? stream].filter(({ writableLength }) => writableLength > 0))
  for (const each of early) each.write('', () => early.delete(each))
  return early.size === 0 ? sink : { ...sink, write: output => (early.size > 0 ? 0 : sink.write(output)) }
}
