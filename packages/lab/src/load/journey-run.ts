/** A journey in progress (journeys.ts). Types only. */
import type { AnswerParts } from './answer-parts.ts'

export interface JourneyRun {
  /** Fields such as `{{seq}}` use this number, so their values are the same in all requests of the journey. */
  readonly number: number
  readonly dueMs: number
  step: number
  readonly extracted: Record<string, string>
  /** For the current request, if values are extracted from its answer. */
  answer: AnswerParts | undefined
  /** True if the maximum number of journeys was in progress: this journey sends no request. */
  readonly refused: boolean
}
