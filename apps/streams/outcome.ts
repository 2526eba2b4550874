/** What every kind of stream tells of itself. */
import type { Stream } from '../runner/definition.ts'
import type { Asker } from '../runner/asking.ts'

/** Of one conversation: the words that must be the same in every arm. Throws when it was cut or came late. */
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

/** A stream that has not ended this long after it should have is dead. */
export const GRACE_MS = 15_000
