/**
 * Shortens the backlogs of the lanes while they cannot keep up, so that connections are refused rather than accepted
 * too late. With one connection per request, at 40 times the capacity, this doubles goodput (docs/benchmarks.md).
 */
import { setTimeout } from 'node:timers'
import { now } from '../../clock.ts'
import { loopTurn } from '../../signals/loop-figures.ts'
import { quietly } from '../../warnings.ts'
import type { ListenHandle } from './listen-socket.ts'

const WINDOW_MS = 200
/** Time and turn are read once per this many connections: reading them costs a tenth of accepting a connection. */
const LOOK_EVERY = 8
/** Lanes that accept this share of one connection per lane and turn are full: the kernel fills lanes unevenly. */
const NEARLY_ALL = 0.85
const SHORTEST = 2
/** The backlogs are long again when the lanes have kept up for this time, ms, also while no client connects. */
const KEPT_UP_MS = 1000

/** Returns the function to call for each connection that a lane accepts. @param lanes all lanes except the main one */
export function adaptBacklogs(
  main: ListenHandle,
  lanes: readonly ListenHandle[],
  longest: number,
  clock: () => number = now,
  turn: () => number = loopTurn,
): () => void {
  let longAgain: NodeJS.Timeout | undefined
  let accepted = 0
  let sinceTurn = 0
  let sinceMs = Number.NEGATIVE_INFINITY
  const listen = (length: number): void => {
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
      listen(Math.min(longest, Math.max(SHORTEST, turns)))
      longAgain = longAgain?.refresh() ?? setTimeout(() => quietly(() => listen(longest)), KEPT_UP_MS).unref()
    }
    sinceTurn = nowTurn
    sinceMs = nowMs
    accepted = 0
  }
}
