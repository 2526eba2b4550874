/** One server that a worker sends to: its connections, and the requests that wait for one. */
import type { ConnectionPool } from './connection-pool.ts'
import { Fifo } from './fifo.ts'
import type { JourneyRun } from './journey-run.ts'

/** A due request: its time, number and target. */
export interface DueRequest {
  readonly due: number
  readonly number: number
  readonly target: number
  /** Its journey, if any. */
  readonly run: JourneyRun | undefined
}

export class Origin {
  readonly pool: ConnectionPool
  /** Ordered by due time. */
  readonly waiting: Fifo<DueRequest> = new Fifo()
  /** True if a request waits because of the cap on connections. */
  capped = false

  constructor(pool: ConnectionPool) {
    this.pool = pool
  }
}
