/** A modest load: users who request one path after another, each pausing after every answer. */
import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Ask, ask } from '../launch/wait-until-listening.ts'

/** Pause of a user between two requests, ms: ten users make at most a thousand requests a second. */
const THINK_MS = 10
/** Pause after a failure, ms: users must not retry as fast as a dead server refuses. */
const FAILED_MS = 100
/** Successive requests to one path, from any users: only overlapping requests fill a queue of this path alone. */
const IN_A_ROW = 3
const TIMEOUT_MS = 10_000

/** One request. Its status is absent while it is in flight, and null without a complete answer. */
export interface Asked {
  status?: number | null
}

export class Users {
  answers = 0
  /** Answers of status 400 and above, and requests without an answer. */
  failures = 0
  readonly #paths: readonly string[]
  readonly #send: (path: string) => ReturnType<typeof ask>
  readonly #agent: http.Agent
  readonly #inFlight = new Set<Asked>()
  #next = 0
  #stopping = new AbortController()
  #stopped: Promise<unknown> = Promise.resolve()

  constructor(origin: string, paths: readonly string[], request: Ask) {
    this.#paths = paths
    this.#send = path => ask(new URL(path, origin), request, TIMEOUT_MS, this.#agent)
    const { Agent } = origin.startsWith('https:') ? https : http
    // Local servers rarely have a signed certificate, and only this machine is contacted.
    this.#agent = new Agent({ keepAlive: true, ...{ rejectUnauthorized: false } })
  }

  start(count: number): void {
    this.#stopping = new AbortController()
    this.#stopped = Promise.all(Array.from({ length: count }, () => this.#sendUntilStopped(this.#stopping.signal)))
  }

  get haveAskedAll(): boolean {
    return this.#next >= IN_A_ROW * this.#paths.length
  }

  /** Ends the users; resolves when they have the answers to all their requests. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#stopped
  }

  close(): void {
    this.#stopping.abort()
    this.#agent.destroy()
  }

  inFlight(): readonly Asked[] {
    return [...this.#inFlight]
  }

  async askAll(times: number): Promise<void> {
    for (const path of this.#paths) for (let asked = 0; asked < times; asked++) await this.#ask(path)
  }

  /**
   * Requests each path alone for its part of `durationMs`. A path with fewer than `least` requests by then gets more,
   * until it has had `least` or its turn has lasted `longestMs`.
   */
  async askEach(durationMs: number, least: number, longestMs: number, check: () => void): Promise<void> {
    const partMs = durationMs / this.#paths.length
    for (const path of this.#paths) {
      const startedMs = Date.now()
      const lasted = (): number => Date.now() - startedMs
      for (let n = 0; lasted() < (n < least ? Math.max(partMs, longestMs) : partMs); n++) {
        check()
        await this.#ask(path)
        await sleep(THINK_MS)
      }
    }
  }

  async #sendUntilStopped(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { status } = await this.#ask()
      await sleep(status === null ? FAILED_MS : THINK_MS, undefined, { signal }).catch(() => {})
    }
  }

  async #ask(path = this.#paths[Math.floor(this.#next++ / IN_A_ROW) % this.#paths.length]!): Promise<Asked> {
    const asked: Asked = {}
    this.#inFlight.add(asked)
    const outcome = await this.#send(path)
    asked.status = typeof outcome === 'number' ? outcome : null
    this.#inFlight.delete(asked)
    this.answers++
    if (asked.status === null || asked.status >= 400) this.failures++
    return asked
  }
}
