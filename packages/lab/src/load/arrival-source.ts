/** Decides for one worker what is due next: from a schedule (open loop), or from waiting users (closed). Pure. */
import type { AnswerParts } from './answer-parts.ts'
import { DueTimes } from './due-times.ts'
import type { Arrival, FailureCode } from './plan.ts'
import { seededRandom } from './random.ts'
import { type Arrivals, arrivalsOf, durationMs } from './schedule.ts'

/** A journey in progress (journeys.ts). */
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

/** `peek` returns Infinity while no next request is known. */
export interface ArrivalSource extends Arrivals {
  readonly durationMs: number
  /**
   * `connected` is false if the request got no connection; `ownMs` is the most that the generator added to its latency.
   */
  ended(atMs: number, connected: boolean, due: number, end: RequestEnd, ownMs: number, run?: JourneyRun): void
}

/** The HTTP status, or the reason why the request got no answer. */
export type RequestEnd = number | FailureCode | 'unsent'

/** Minimum pause of a user whose connection failed, ms: a closed port would get thousands of attempts a second. */
const PAUSE_AFTER_FAILED_CONNECTION_MS = 100

/** Starts and pauses (half to one and a half of `thinkMs`) are random, or users would stay synchronised for ever. */
const closedLoop = (users: number, lengthMs: number, thinkMs: number, random: () => number): ArrivalSource => {
  const wanting = new DueTimes()
  for (let user = 0; user < users; user++) wanting.add(random() * thinkMs)
  return {
    durationMs: lengthMs,
    peek: () => (wanting.first < lengthMs ? wanting.first : Number.POSITIVE_INFINITY),
    advance: () => wanting.removeFirst(),
    ended: (atMs, connected) => {
      const pauseMs = thinkMs * (0.5 + random())
      wanting.add(atMs + (connected ? pauseMs : Math.max(pauseMs, PAUSE_AFTER_FAILED_CONNECTION_MS)))
    },
  }
}

/** A client retries after this time, ms, doubled for each retry and multiplied by a random 0.5 to 1.5. */
const RETRY_AFTER_MS = 100

const retrying = (source: ArrivalSource, retries: number, random: () => number): ArrivalSource => {
  const again = new DueTimes()
  /** The number of earlier attempts, by due time. */
  const tries = new Map<number, number>()
  const { durationMs: endMs } = source
  return {
    durationMs: endMs,
    peek: () => Math.min(source.peek(), again.first < endMs ? again.first : Number.POSITIVE_INFINITY),
    advance: () => (again.first < source.peek() ? again.removeFirst() : source.advance()),
    ended: (atMs, _connected, due, end) => {
      const before = tries.get(due) ?? 0
      tries.delete(due)
      if (before === retries || (typeof end === 'number' && end < 500)) return
      const nextMs = atMs + RETRY_AFTER_MS * 2 ** before * (0.5 + random())
      again.add(nextMs)
      tries.set(nextMs, before + 1)
    },
  }
}

export const sourceOf = (arrival: Arrival, worker: number, workers: number): ArrivalSource => {
  if (arrival.kind === 'closed') {
    const users = shareOf(arrival.users, worker, workers)
    // The same seed in every arm gives the same pauses.
    return closedLoop(users, arrival.durationMs, arrival.thinkMs, seededRandom(worker))
  }
  const source: ArrivalSource = {
    ...arrivalsOf(arrival.schedule, worker, workers),
    durationMs: durationMs(arrival.schedule),
    ended: () => {},
  }
  return arrival.retries ? retrying(source, arrival.retries, seededRandom(worker)) : source
}

/** Splits a whole number into parts that differ by at most one. */
export const shareOf = (total: number, worker: number, workers: number): number =>
  Math.floor(total / workers) + (worker < total % workers ? 1 : 0)
