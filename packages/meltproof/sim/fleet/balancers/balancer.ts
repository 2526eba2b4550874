/** Decides which server gets the next request. Each balancer has its own file. */
import type { LoadReport } from '../../../src/server/response/load-report.ts'

/** A server as a balancer sees it. */
export interface Server {
  readonly id: number
  /** Requests that the balancer has sent to it and that have not ended. */
  open: number
  /** Maximum of `open`. */
  maxconn: number
}

export interface Balancer {
  /** Sets the servers to choose from. */
  rotation(servers: readonly Server[], nowMs: number): void
  /**
   * Returns undefined when all servers are full. `avoid` is a server that has just failed. It is chosen only if no
   * other server is left.
   */
  choose(avoid?: Server): Server | undefined
  /** Must be called with each load report that an answer of this server carried. */
  reported?(server: Server, report: LoadReport, nowMs: number): void
  /** `update` must be called at this interval, ms. */
  readonly updateEveryMs?: number
  update?(nowMs: number): void
}
