/**
 * Cancellations under way. Each is a connection of its own to a server that may be in trouble already, so only some go
 * at once, and only so many wait; beyond that the database's own timeout has to do.
 */
import { startFairTimer } from '../deadline/fair-timer.ts'

/** At once; a pool is seldom larger than a few times this. */
const MOST_AT_ONCE = 8
const MOST_WAITING = 256
/** One that takes longer is given up: the server's own timeout has ended the query by then, or nothing will. */
const CANCELLATION_MS = 5000

/** Begins a cancellation; calls `done` once it is over, however it ended. Returns a function that gives it up. */
export type Cancellation = (done: () => void) => () => void

let underWay = 0
const waiting: Cancellation[] = []

/** Runs it now or when others are done. Never throws. */
export function runCancellation(cancellation: Cancellation): void {
  if (underWay < MOST_AT_ONCE) begin(cancellation)
  else if (waiting.length < MOST_WAITING) waiting.push(cancellation)
}

function begin(cancellation: Cancellation): void {
  underWay++
  let over = false
  let giveUp = (): void => {}
  const done = (): void => {
    if (over) return
    over = true
    timer.cancel()
    underWay--
    const next = waiting.shift()
    if (next !== undefined) begin(next)
  }
  const timer = startFairTimer(CANCELLATION_MS, () => {
    giveUp()
    done()
  })
  try {
    giveUp = cancellation(done)
  } catch {
    // Nobody to tell: the call it belongs to has been answered already.
    done()
  }
}
