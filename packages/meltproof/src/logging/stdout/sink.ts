/** Where the bytes of a stream go: what a writer needs of it. */
import type { Output } from './line-ends.ts'

export interface Sink {
  /** Bytes of several lines given to one write at most. */
  readonly batchBytes: number
  /** A write takes all it is given, so that nothing is gained by queueing first. */
  readonly takesAll: boolean
  /** Writes what is taken without waiting. Returns how many bytes that was, 0 when it is full. Throws Node's error. */
  write(output: Output): number
  /** Gives back what the sink opened. */
  close(): void
}
