/** A journey under way (journeys.ts). Types only. */
import type { AnswerParts } from './answer-parts.ts'

export interface JourneyRun {
  /** Fields such as `{{seq}}` are the same in all of its requests. */
  readonly number: number
  readonly dueMs: number
  step: number
  readonly extracted: Record<string, string>
  /** Of the request that is under way, where something is to be read out of it. */
  answer: AnswerParts | undefined
  /** As many as may be were under way: it makes no request. */
  readonly refused: boolean
}
