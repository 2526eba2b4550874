/** What protect() hands back: figures about the server, and the way to take meltproof off it. */
import type { GateStats } from '../process-gate.ts'

/** Figures of one protected server at this moment. */
export interface GuardStats extends GateStats {
  /** Exempt requests since the start. */
  readonly exempt: number
  /** Requests whose client left while they waited, since the start. */
  readonly left: number
  /**
   * What clients have open and wait for: requests in service, with or without a permit, requests that wait, and upgraded
   * connections. Not what is being told that it was shed.
   */
  readonly open: number
  /** Listening sockets that accept connections; 0 before listen(). */
  readonly lanes: number
  /** drain() was called. */
  readonly draining: boolean
  /** Decisions are made and counted, and nobody is shed. */
  readonly dryRun: boolean
  /**
   * Seconds for which the event loop of this process stood still, by the place in the code that held it. Absent unless stalls
   * are named (meltproof/culprit).
   * @experimental
   */
  readonly stalls?: Readonly<Record<string, number>>
}

export interface Guard {
  stats(): GuardStats
  /** The same number as `stats().pressure`. */
  pressure(): number
  /** Why the last shed happened, in one sentence for a person. */
  explain(): string
  /**
   * Shuts the server down without losing a request. It says that it is not ready, and goes on for a while
   * (`drainDelayMs`) while every HTTP/1 answer says `Connection: close`; then it accepts no more, serves the requests it
   * has, and closes, once no client may use an idle connection any more (`keepAliveTimeout`). All of that within `timeoutMs`, by default 10,000.
   *
   * Resolves true when all ended in time; false when the rest was shed and connections were cut, upgraded ones
   * (WebSocket) included. Calling it again returns the same promise.
   *
   * @example process.on('SIGTERM', () => guard.drain(10_000))
   * @throws MeltproofError for a time that is not a number from 0 to 3,600,000
   */
  drain(timeoutMs?: number): Promise<boolean>
  /** Takes meltproof off the server: requests that wait are started, and the server is as it was. */
  close(): void
}
