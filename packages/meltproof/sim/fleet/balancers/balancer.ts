/** Decides which server gets the next request. Each balancer has its own file. */
import type { LoadReport } from '../../../src/server/response/load-report.ts'

/** A server as a balancer sees it. */
export interface Server {
  readonly id: number
  /** Requests that it has now. */
  open: number
  /** The most requests that it may have at once. */
  maxconn: number
}

export interface Balancer {
  /** Sets the servers to choose from. */
  rotation(servers: readonly Server[], nowMs: number): void
  /**
   * Returns undefined when all servers are full. `avoid` has just failed; it is chosen only when no other server is
   * left.
   */
  choose(avoid?: Server): Server | undefined
  /** An answer of this server carried a load report. */
  reported?(server: Server, report: LoadReport, nowMs: number): void
  /** `update` must be called at this interval, ms. */
  readonly updateEveryMs?: number
  update?(nowMs: number): void
}
