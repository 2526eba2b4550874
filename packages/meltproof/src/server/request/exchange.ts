/** One request on its way through the server, with its response, connection, permit and budget, and how it ended. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { KindKey } from '../../admission/fairness/path-hash.ts'
import type { Entry } from '../../admission/gate.ts'
import type { Budget } from '../../deadline/budget.ts'
import type { Scope } from '../../record.ts'
import type { RunningRequest } from '../../signals/named-stalls.ts'
import type { Connection, ConnectionRequest } from '../connection/connection.ts'
import { Permit } from '../../admission/in-service/permit.ts'

export class Exchange extends Permit<Exchange> implements Entry, ConnectionRequest {
  readonly request: IncomingMessage
  /** The URL as it arrived: frameworks shorten `request.url`, and the kind must not change. */
  readonly url: string
  /** Undefined when meltproof saw the request only after Node had created its response. */
  readonly connection: Connection<Exchange> | undefined
  readonly keepAlive: boolean
  response: ServerResponse | undefined

  // Set by the code in gate/.
  /** When the caller or this server stops waiting for the answer, ms; Infinity without a deadline. */
  answerBy: number = Number.POSITIVE_INFINITY
  /** The URL, or the name that the option `kind` gave the request (gate/request-kinds.ts). */
  kindKey: KindKey
  /** Number of the request's kind; -1 while unknown. */
  kind = -1
  kindArrived = false
  client: number | undefined
  /** True if the request starts without a permit: exempt, not admitted (dry run), or waiting when the guard closed. */
  ungated = false
  /**
   * In a dry run, for a request that would have waited: how long its handler took, ms; -1 while it runs. Such a request
   * waits for a shadow permit while its handler runs (gate/dry-run.ts).
   */
  shadowMs: number | undefined
  /** Starts a request that waits outside a connection's queue: one without a connection, or the end of an upload. */
  resume: (() => void) | undefined

  // Set while the handler runs.
  budget: Budget | undefined
  /** Set while stalls are named. */
  running: RunningRequest | undefined
  answeredLate = false
  threw = false
  uploadEnd: Exchange | undefined
  /** True while memory.ts counts the request with a body, false without one. Stored, as apps may change the method. */
  heldBody: boolean | undefined

  // Set while requests are recorded (timing/observed.ts).
  lateMs = 0
  times: Scope | undefined

  constructor(
    request: IncomingMessage,
    connection: Connection<Exchange> | undefined,
    keepAlive: boolean,
    arrivedAt: number,
    url: string = request.url ?? '',
  ) {
    super(arrivedAt)
    this.request = request
    this.url = url
    this.kindKey = url
    this.connection = connection
    this.keepAlive = keepAlive
  }

  get mayRun(): boolean {
    return this.state === 'held' || this.ungated
  }
}
