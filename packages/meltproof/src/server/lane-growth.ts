/**
 * Lanes follow what the loop can take. While they do not keep up (lane-pace.ts) and there is time to turn more away, as
 * many again are opened. While there is not, the queues before them are made short: whoever gets in has not waited long,
 * and for whoever does not the kernel is the wall. With long ones the lanes would be as far behind for as long as it lasts,
 * and everybody who is let in too late for his answer.
 */
import { now } from '../clock.ts'
import { loopTurn } from '../signals/loop-turn.ts'
import { LanePace } from './lane-pace.ts'
import type { ListenHandle } from './listen-socket.ts'

/** No more lanes than so many times those that were asked for. */
const MOST_TIMES = 4
/** Queues get their length back when the lanes have kept up for so many windows. */
const WINDOWS_TO_LENGTHEN = 5
/** A queue holds at least so many. */
const SHORTEST = 2

export interface GrowingLanes {
  /** Those beside the main one; grows. */
  readonly lanes: ListenHandle[]
  readonly main: ListenHandle
  /** Of each lane. */
  readonly backlog: number
  /** Opens another one; undefined when it can not. */
  readonly open: () => ListenHandle | undefined
  /** Whether there is time to turn more away than now. */
  readonly mayGrow: () => boolean
}

export class LaneGrowth {
  readonly #growing: GrowingLanes
  readonly #most: number
  readonly #pace: Pick<LanePace, 'accepted'>
  #backlog: number
  #windowsKeptUp = 0

  constructor(growing: GrowingLanes, pace: Pick<LanePace, 'accepted'> = new LanePace(now, loopTurn)) {
    this.#growing = growing
    this.#pace = pace
    this.#most = growing.lanes.length * MOST_TIMES
    this.#backlog = growing.backlog
  }

  /** A lane has accepted a connection. */
  accepted(): void {
    const { lanes, backlog, mayGrow } = this.#growing
    const pace = this.#pace.accepted(lanes.length)
    if (pace === undefined) return
    if (!pace.behind) {
      if (this.#backlog < backlog && ++this.#windowsKeptUp >= WINDOWS_TO_LENGTHEN) this.#listen(backlog)
      return
    }
    this.#windowsKeptUp = 0
    if (mayGrow() && this.#grow()) return
    this.#listen(Math.min(backlog, Math.max(SHORTEST, pace.turns)))
  }

  #grow(): boolean {
    const { lanes, open } = this.#growing
    const wanted = Math.min(this.#most, 2 * lanes.length)
    const before = lanes.length
    while (lanes.length < wanted) {
      const lane = open()
      if (lane === undefined) break
      lanes.push(lane)
    }
    return lanes.length > before
  }

  /** Of a socket that listens already, listen() changes the length of its queue and nothing else. */
  #listen(backlog: number): void {
    this.#backlog = backlog
    for (const lane of [this.#growing.main, ...this.#growing.lanes]) lane.listen(backlog)
  }
}
