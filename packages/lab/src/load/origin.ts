/** One of the servers that a worker sends to: its connections, and the requests that wait for one. */
import type { ConnectionPool } from './connection-pool.ts'
import { Fifo } from './fifo.ts'
import type { JourneyRun } from './journey-run.ts'

/** A request that is due: when, which of all, and which target. */
export interface DueRequest {
  readonly due: number
  readonly number: number
  readonly target: number
  /** Whose it is. */
  readonly run: JourneyRun | undefined
}

export class Origin {
  readonly pool: ConnectionPool
  /** In the order in which they were due. */
  readonly waiting: Fifo<DueRequest> = new Fifo()
  /** Some request waits because the cap on connections is reached. */
  capped = false

  constructor(pool: ConnectionPool) {
    this.pool = pool
  }
}
