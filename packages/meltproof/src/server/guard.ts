/** The object that protect() returns: figures about the server, and methods to drain it and to remove meltproof. */
import type { IncomingMessage } from 'node:http'
import type { GateStats } from '../process-gate.ts'

/** Figures of one protected server at this moment. */
export interface GuardStats extends GateStats {
  /** Exempt requests since the start. */
  readonly exempt: number
  /** Requests whose client left while they waited, since the start. */
  readonly left: number
  /**
   * Number of requests that clients have open: in service, with or without a permit, waiting, or upgraded to another
   * protocol. A request whose 503 is being written does not count.
   */
  readonly open: number
  /** Listening sockets that accept connections; 0 before listen(). */
  readonly lanes: number
  /** True once drain() was called. */
  readonly draining: boolean
  /** True in a dry run: sheds are decided and counted, but every request is served. */
  readonly dryRun: boolean
  /**
   * Seconds for which the event loop of this process was stalled, by the place in the code that caused it. Absent
   * unless stalls are named (meltproof/culprit).
   * @experimental
   */
  readonly stalls?: Readonly<Record<string, number>>
}

export interface Guard {
  stats(): GuardStats
  /** The same number as `stats().pressure`. */
  pressure(): number
  /** Explains why the last shed happened, and what limits concurrency, in sentences for a person. */
  explain(): string
  /**
   * Shuts the server down without losing a request (docs/shutdown.md), within `timeoutMs`, by default 10,000. Resolves
   * true when all requests ended in time; false when meltproof shed the rest and cut connections, including upgraded
   * ones (WebSocket). Calling it again returns the same promise.
   *
   * @example process.on('SIGTERM', () => guard.drain(10_000))
   * @throws MeltproofError for a time that is not a number from 0 to 3,600,000
   */
  drain(timeoutMs?: number): Promise<boolean>
  /** Removes meltproof from the server: waiting requests are started, and the server works as before protect(). */
  close(): void
}

/** Property of a server that holds its guard. Every installed copy of meltproof uses the same symbol. */
const GUARD = Symbol.for('meltproof.guard')

export function guardOf(server: object): Guard | undefined {
  return (server as { [GUARD]?: Guard })[GUARD]
}

export function setGuard(server: object, guard: Guard | undefined): void {
  if (guard === undefined) Reflect.deleteProperty(server, GUARD)
  else Object.defineProperty(server, GUARD, { value: guard, configurable: true })
}

/**
 * The pressure of the server that received this request: 0 (recent requests started at once) to 1 (all are shed); 0
 * when the server is not protected. Use it for brownout: under pressure a handler omits optional work, so that more
 * requests are served.
 *
 * ```js
 * const related = pressureOf(request) > 0.3 ? [] : await recommendations(user)
 * ```
 */
export function pressureOf(request: Pick<IncomingMessage, 'socket'>): number {
  const { server } = (request.socket ?? {}) as { server?: object }
  return (server === undefined ? undefined : guardOf(server))?.pressure() ?? 0
}
