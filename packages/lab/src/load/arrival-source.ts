/** What is due next, for one worker: from a schedule (open loop) or from users who wait for their answers. Pure. */
import { Fifo } from './fifo.ts'
import type { Arrival } from './plan.ts'
import { arrivalsOf, durationMs } from './schedule.ts'

export interface ArrivalSource {
  readonly durationMs: number
  /** Due time of the next request, milliseconds from the start; Infinity when none is due at present. */
  peek(): number
  advance(): void
  /** A request ended at `atMs`; `connected` is false when it did not even get a connection. */
  ended(atMs: number, connected: boolean): void
}

/**
 * A user whose connection failed pauses this long before wanting again: without it a closed port would be asked tens of
 * thousands of times a second, and the failures would drown everything else. Milliseconds.
 */
const PAUSE_AFTER_FAILED_CONNECTION_MS = 100

const closedLoop = (users: number, lengthMs: number, thinkMs: number): ArrivalSource => {
  // Each queue is in order of time because what is added to it lies a constant ahead.
  const thinking = new Fifo<number>()
  const pausing = new Fifo<number>()
  for (let user = 0; user < users; user++) thinking.push(0)
  const next = (): Fifo<number> =>
    (pausing.peek() ?? Number.POSITIVE_INFINITY) < (thinking.peek() ?? Number.POSITIVE_INFINITY) ? pausing : thinking
  return {
    durationMs: lengthMs,
    peek: () => {
      const due = next().peek() ?? Number.POSITIVE_INFINITY
      return due < lengthMs ? due : Number.POSITIVE_INFINITY
    },
    advance: () => {
      next().shift()
    },
    ended: (atMs, connected) => {
      if (connected) thinking.push(atMs + thinkMs)
      else pausing.push(atMs + Math.max(thinkMs, PAUSE_AFTER_FAILED_CONNECTION_MS))
    },
  }
}

/** The share of `worker` (0-based) out of `workers`. */
export const sourceOf = (arrival: Arrival, worker: number, workers: number): ArrivalSource => {
  if (arrival.kind === 'closed') {
    return closedLoop(shareOf(arrival.users, worker, workers), arrival.durationMs, arrival.thinkMs)
  }
  const arrivals = arrivalsOf(arrival.schedule, worker, workers)
  return {
    durationMs: durationMs(arrival.schedule),
    peek: arrivals.peek,
    advance: arrivals.advance,
    ended: () => {},
  }
}

/** Shares of a whole number that differ by at most one and add up to it. */
export const shareOf = (total: number, worker: number, workers: number): number =>
  Math.floor(total / workers) + (worker < total % workers ? 1 : 0)
