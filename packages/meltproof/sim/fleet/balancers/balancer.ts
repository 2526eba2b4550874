/** Decides which server gets the next request. One file each. */
import type { LoadReport } from '../../../src/server/response/load-report.ts'

/** A server as a balancer sees it. */
export interface Server {
  readonly id: number
  /** Requests that it has now. */
  open: number
  /** It gets no more at once. */
  maxconn: number
}

export interface Balancer {
  /** Those that may be chosen, from now on. */
  rotation(servers: readonly Server[], nowMs: number): void
  /** Undefined: all are full. `avoid`: it has just failed; only when there is no other. */
  choose(avoid?: Server): Server | undefined
  /** An answer of this server came. */
  reported?(server: Server, report: LoadReport, nowMs: number): void
  /** Must be called so often, ms. */
  readonly updateEveryMs?: number
  update?(nowMs: number): void
}
