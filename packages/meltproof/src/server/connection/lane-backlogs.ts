/**
 * Shortens the backlogs of the lanes while they cannot keep up, so that connections are refused rather than accepted
 * too late. With one connection per request, at 40 times the capacity, this doubles goodput (docs/benchmarks.md).
 */
import { now } from '../../clock.ts'
import { loopTurn } from '../../signals/loop-figures.ts'
import type { ListenHandle } from './listen-socket.ts'

const WINDOW_MS = 200
/** Time and turn are read once per this many connections: reading them costs a tenth of accepting a connection. */
const LOOK_EVERY = 8
/** Lanes that accept this share of one connection per lane and turn are full: the kernel fills lanes unevenly. */
const NEARLY_ALL = 0.85
const WINDOWS_TO_LENGTHEN = 5
const SHORTEST = 2

/** Returns the function to call for each connection that a lane accepts. @param lanes all lanes except the main one */
export function adaptBacklogs(
  main: ListenHandle,
  lanes: readonly ListenHandle[],
  longest: number,
  clock: () => number = now,
  turn: () => number = loopTurn,
): () => void {
  let backlog = longest
  let windowsKeptUp = 0
  let accepted = 0
  let sinceTurn = 0
  let sinceMs = Number.NEGATIVE_INFINITY
  const listen = (length: number): void => {
    backlog = length
    for (const lane of [main, ...lanes]) lane.listen(length)
  }
  return () => {
    if (++accepted % LOOK_EVERY !== 0) return
    const nowMs = clock()
    if (nowMs - sinceMs < WINDOW_MS) return
    const nowTurn = turn()
    // Each lane could accept this many connections in the window; NaN where Node does not count turns.
    const turns = nowTurn - sinceTurn
    if (accepted > NEARLY_ALL * lanes.length * turns) {
      windowsKeptUp = 0
      listen(Math.min(longest, Math.max(SHORTEST, turns)))
    } else if (backlog < longest && ++windowsKeptUp >= WINDOWS_TO_LENGTHEN) {
      listen(longest)
    }
    sinceTurn = nowTurn
    sinceMs = nowMs
    accepted = 0
  }
}
