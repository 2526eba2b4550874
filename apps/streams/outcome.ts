/** The parts that all kinds of streams share. */
import type { Stream } from '../runner/definition.ts'
import type { Asker } from '../runner/asking.ts'

/** Runs one conversation. Returns the text that must be the same in every arm. Throws when it was cut or late. */
export type Conversation<Kind extends Stream['kind']> = (
  stream: Extract<Stream, { kind: Kind }>,
  place: Place,
) => Promise<string>

export interface Place {
  readonly origin: string
  readonly asker: Asker
  /** The folder of the app's packages, for programs. */
  readonly folder: string
  readonly signal: AbortSignal
}

/** A stream that has not ended this long after it should have counts as dead, ms. */
export const GRACE_MS = 15_000
