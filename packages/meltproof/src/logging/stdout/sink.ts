/** Where the bytes of a stream go. Says what an outlet needs of it, and nothing of how. */

export interface Sink {
  /** Bytes given to one write at most, when they are several lines. */
  readonly batchBytes: number
  /** A write takes all it is given, at once: nothing is gained by queueing first. */
  readonly takesAll: boolean
  /** Writes what is taken without waiting; how many bytes that was, 0 when it is full. Throws Node's error otherwise. */
  write(bytes: Uint8Array | string): number
  /** Gives back what the sink opened. */
  close(): void
}
