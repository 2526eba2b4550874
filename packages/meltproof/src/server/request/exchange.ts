/**
 * One request on its way through the door: where it waits, and what it holds while it is in service.
 * A plain record, which the door and its parts change.
 */
import type { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Entry } from '../../admission/gate.ts'
import type { Serving } from '../../admission/in-service/service-times.ts'
import type { Budget } from '../../deadline/budget.ts'
import type { RequestTimes } from '../../timing/request-times.ts'
import type { Connection } from '../connection/connection.ts'

export class Exchange implements Entry, Serving {
  arrivedAt: number
  left = false
  line = 0
  /** See the gate. */
  startBy: number = Number.POSITIVE_INFINITY
  inServiceThen = 0
  /** When its caller or its server stops waiting for its answer; Infinity where requests have no deadline. */
  answerBy: number = Number.POSITIVE_INFINITY
  /** What its handler works under, where requests have a deadline. */
  budget: Budget | undefined
  readonly request: IncomingMessage
  /** The target as it arrived: frameworks cut it down on the way, and its kind must stay the same. */
  readonly url: string
  /** Where it came in; undefined when it was seen only after Node had made a response for it (see request-interceptor.ts). */
  readonly connection: Connection | undefined
  /** What llhttp says about the connection after this request; false also when its client has sent its end after it. */
  keepAlive: boolean
  response: ServerResponse | undefined
  /** Event under which Node hands the request to the app: `request`, `checkContinue` or `checkExpectation`. */
  event = 'request'
  /** Async context to start in; for a request that waits and has no connection to remember it. */
  context: AsyncResource | undefined
  /** Its kind by its path (known-kinds.ts); -1: not asked yet. */
  kind = -1
  /** The hash of its client, once it was asked for. */
  client: number | undefined
  startedAt = 0
  /** As it was when it started (admission/in-service/service-times.ts). */
  servingSince = 0
  kindNoted = 0
  answeredThen = 0
  besideThen = 0
  /** How long it may have lain in its socket before it was parsed; only noted while somebody observes. */
  lateMs = 0
  /** What is noted of it while somebody observes, until it is over. */
  times: RequestTimes | undefined
  /** While somebody observes: how body-bytes.ts counts. Bytes; -1 when nothing is known. */
  byteCount = -1
  /** Its neighbours among those in service (in-service.ts). */
  startedBefore: Exchange | undefined
  startedAfter: Exchange | undefined
  /** True from the start of its handler until its permit is given back. */
  holdsPermit = false
  /** Nobody waits for its answer any more, and its handler was not seen to end. */
  abandoned = false
  /** It was told that its deadline has passed. */
  answeredLate = false
  /** {@link kind} has been told that it came. */
  kindCame = false
  /** Its handler threw. */
  threw = false
  /** Started without asking at the gate: it is exempt, or this is a dry run. */
  ungated = false
  /** Goes on with a handler that waits for the end of an upload; of an exchange that asks for that alone. */
  resume: (() => void) | undefined
  /** The exchange that asks for that, of the one whose upload it was. */
  resumedAs: Exchange | undefined
  /** In a dry run: its stand-in waits at the gate while its handler runs. */
  shadow = false
  /** In a dry run: how long its handler took, once it has ended; -1 before. */
  tookMs = -1

  get again(): boolean {
    return this.resume !== undefined
  }

  constructor(
    request: IncomingMessage,
    connection: Connection | undefined,
    keepAlive: boolean,
    arrivedAt: number,
    url: string = request.url ?? '',
  ) {
    this.request = request
    this.url = url
    this.connection = connection
    this.keepAlive = keepAlive
    this.arrivedAt = arrivedAt
  }
}
