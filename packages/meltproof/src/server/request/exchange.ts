/** One request on its way through the server: what came, where it waits, what it may use, and how it ends. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Entry } from '../../admission/gate.ts'
import type { Budget } from '../../deadline/budget.ts'
import type { Scope } from '../../record.ts'
import type { Connection, ConnectionRequest } from '../connection/connection.ts'
import { Permit } from '../../admission/in-service/permit.ts'

export class Exchange extends Permit<Exchange> implements Entry, ConnectionRequest {
  readonly request: IncomingMessage
  /** The target as it arrived: frameworks shorten `request.url`, and the kind must stay the same. */
  readonly url: string
  /** Undefined when the request was seen only after Node had made a response for it. */
  readonly connection: Connection<Exchange> | undefined
  /** What llhttp says about the connection after this request. */
  readonly keepAlive: boolean
  response: ServerResponse | undefined

  // Set by gate/.
  /** When its caller or its server stops waiting for its answer; Infinity where requests have no deadline. */
  answerBy: number = Number.POSITIVE_INFINITY
  /** Of the name that the operator's `kind` gave it; undefined: its URL tells the kind (gate/request-kinds.ts). */
  kindKey: number | undefined
  /** Its kind; -1: not known yet. */
  kind = -1
  kindCame = false
  client: number | undefined
  /** It starts without a permit: it is exempt, or this is a dry run. */
  ungated = false
  /**
   * In a dry run, of a request that would have waited, and asks at the gate while its handler runs (gate/dry-run.ts): how long
   * the handler took, ms; -1 while it runs.
   */
  shadowMs: number | undefined
  /** Starts what waits outside of its connection's line: a request that came without one, or the end of an upload. */
  resume: (() => void) | undefined

  // Set while the handler runs.
  budget: Budget | undefined
  answeredLate = false
  threw = false
  uploadEnd: Exchange | undefined
  /** It is counted among those that hold memory. */
  holdsMemory = false
  /** As it was counted: an app may change the method. */
  heldBody = false

  // Set while somebody observes (timing/observed.ts).
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
    this.connection = connection
    this.keepAlive = keepAlive
  }

  get mayRun(): boolean {
    return this.holdsPermit || this.ungated
  }
}
