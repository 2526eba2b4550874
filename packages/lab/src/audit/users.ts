/** A modest load: users who ask one path after the other, each waiting for the answer and a moment more. */
import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Ask, ask } from '../launch/wait-until-listening.ts'

/** Between two requests of a user, ms: ten users make at most a thousand requests a second. */
const THINK_MS = 10
/** After a failure, ms: a server that is gone is not asked as fast as it refuses. */
const FAILED_MS = 100
/** Requests of one path in a row: a queue that only this path has is seen only where they meet. */
const IN_A_ROW = 3
const TIMEOUT_MS = 10_000

/** One request; no status while it is on its way, null when it got no whole answer. */
export interface Asked {
  status?: number | null
}

export class Users {
  answers = 0
  /** Answers of status 400 and above, and requests without an answer. */
  failures = 0
  readonly #origin: string
  readonly #paths: readonly string[]
  readonly #request: Ask
  readonly #agent: http.Agent
  readonly #inFlight = new Set<Asked>()
  #next = 0
  #leave = new AbortController()
  #gone: Promise<unknown> = Promise.resolve()

  constructor(origin: string, paths: readonly string[], request: Ask) {
    this.#origin = origin
    this.#paths = paths
    this.#request = request
    const { Agent } = origin.startsWith('https:') ? https : http
    // A certificate for this machine is seldom signed, and nobody else is asked.
    this.#agent = new Agent({ keepAlive: true, ...{ rejectUnauthorized: false } })
  }

  come(count: number): void {
    this.#leave = new AbortController()
    this.#gone = Promise.all(Array.from({ length: count }, () => this.#stay(this.#leave.signal)))
  }

  /** Whether each path has been asked so. */
  get haveAskedAll(): boolean {
    return this.#next >= IN_A_ROW * this.#paths.length
  }

  /** They wait for the answers they have asked for. */
  async go(): Promise<void> {
    this.#leave.abort()
    await this.#gone
  }

  close(): void {
    this.#leave.abort()
    this.#agent.destroy()
  }

  inFlight(): readonly Asked[] {
    return [...this.#inFlight]
  }

  /** Each path, one at a time. */
  async askAll(times: number): Promise<void> {
    for (const path of this.#paths) for (let asked = 0; asked < times; asked++) await this.#ask(path)
  }

  /** Each path by itself, for its part of the time and at least `least` times, but not for longer than `longestMs`. */
  async askEach(durationMs: number, least: number, longestMs: number, check: () => void): Promise<void> {
    for (const path of this.#paths) {
      const startedMs = Date.now()
      const lasted = (): number => Date.now() - startedMs
      for (let n = 0; lasted() < (n < least ? longestMs : durationMs / this.#paths.length); n++) {
        check()
        await this.#ask(path)
        await sleep(THINK_MS)
      }
    }
  }

  async #stay(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { status } = await this.#ask()
      await sleep(status === null ? FAILED_MS : THINK_MS, undefined, { signal }).catch(() => {})
    }
  }

  async #ask(path = this.#paths[Math.floor(this.#next++ / IN_A_ROW) % this.#paths.length]!): Promise<Asked> {
    const asked: Asked = {}
    this.#inFlight.add(asked)
    const outcome = await ask(new URL(path, this.#origin), this.#request, TIMEOUT_MS, this.#agent)
    asked.status = typeof outcome === 'number' ? outcome : null
    this.#inFlight.delete(asked)
    this.answers++
    if (asked.status === null || asked.status >= 400) this.failures++
    return asked
  }
}
