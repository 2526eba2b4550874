/**
 * While the lanes do not keep up (lane-pace.ts) the queues before them are made short. With long ones everybody would be
 * let in too late for an answer. So whoever gets in has not waited long, and the rest is kept out by the kernel. With a
 * connection per request at 40 times the capacity this doubles what is served (docs/benchmarks.md).
 */
import { now } from '../../clock.ts'
import { loopTurn } from '../../signals/loop-turn.ts'
import { LanePace } from './lane-pace.ts'
import type { ListenHandle } from './listen-socket.ts'

/** Queues get their length back when the lanes have kept up for so many windows. */
const WINDOWS_TO_LENGTHEN = 5
/** A queue holds at least so many. */
const SHORTEST = 2

export class LaneBacklogs {
  readonly #main: ListenHandle
  /** Those beside the main one, whose connections are told of. */
  readonly #lanes: readonly ListenHandle[]
  readonly #longest: number
  readonly #pace: Pick<LanePace, 'accepted'>
  #backlog: number
  #windowsKeptUp = 0

  constructor(
    main: ListenHandle,
    lanes: readonly ListenHandle[],
    backlog: number,
    pace: Pick<LanePace, 'accepted'> = new LanePace(now, loopTurn),
  ) {
    this.#main = main
    this.#lanes = lanes
    this.#longest = backlog
    this.#backlog = backlog
    this.#pace = pace
  }

  /** A lane has accepted a connection. */
  accepted(): void {
    const pace = this.#pace.accepted(this.#lanes.length)
    if (pace === undefined) return
    if (pace.behind) {
      this.#windowsKeptUp = 0
      this.#listen(Math.min(this.#longest, Math.max(SHORTEST, pace.turns)))
    } else if (this.#backlog < this.#longest && ++this.#windowsKeptUp >= WINDOWS_TO_LENGTHEN) {
      this.#listen(this.#longest)
    }
  }

  /** Of a socket that listens already, listen() changes the length of its queue and nothing else. */
  #listen(backlog: number): void {
    this.#backlog = backlog
    for (const lane of [this.#main, ...this.#lanes]) lane.listen(backlog)
  }
}
