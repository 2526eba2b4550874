/** Observes HTTP servers that receive requests: their timeouts, and their state when the process exits. */
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Facts, PathFacts, ServerFacts } from '../facts.ts'
import { type Observations, quietly } from './observations.ts'

interface Exchange {
  readonly request: IncomingMessage
  readonly server: Server
  readonly response: ServerResponse
}

/** Maximum number of answers in the list. When it is reached, finished answers are removed. */
const MANY_OPEN = 1000
/** Maximum number of counted paths, because an app with an unbounded number of paths would fill its memory. */
const MOST_PATHS = 200

export class Servers {
  requests = 0
  alone = false
  readonly #observations: Observations
  readonly #paths = new Map<string, { requests: number; tookMs: number }>()
  #cameMs = 0
  readonly #servers = new Set<Server>()
  readonly #open = new Set<ServerResponse>()

  constructor(observations: Observations) {
    this.#observations = observations
    subscribe('http.server.request.start', message =>
      quietly(() => {
        const { server, request, response } = message as Exchange
        if (observations.on) this.requests++
        if (this.alone) this.#countPath(request.url ?? '')
        this.#servers.add(server)
        if (this.#open.size >= MANY_OPEN) this.#forgetDone()
        if (this.#open.size < MANY_OPEN) this.#open.add(response)
      }),
    )
    subscribe('http.server.response.finish', message => this.#open.delete((message as Exchange).response))
  }

  all(): readonly ServerFacts[] {
    return [...this.#servers].map(server => ({
      address: addressOf(server),
      headersTimeoutMs: server.headersTimeout,
      requestTimeoutMs: server.requestTimeout,
    }))
  }

  paths(): readonly PathFacts[] {
    return [...this.#paths].map(([path, counts]) => ({ path, ...counts }))
  }

  /** Ends the phase. The time of a request lasts until the next request, or until this call. */
  endAlone(): void {
    this.#countPath('')
    this.#paths.delete('')
    this.alone = false
  }

  #countPath(path: string): void {
    const now = performance.now()
    const before = this.#paths.get(this.#observations.path)
    if (before !== undefined) before.tookMs += now - this.#cameMs
    this.#observations.path = path
    this.#cameMs = now
    const seen = this.#paths.get(path)
    if (seen !== undefined) seen.requests++
    else if (this.#paths.size < MOST_PATHS) this.#paths.set(path, { requests: 1, tookMs: 0 })
  }

  atExit(): Facts['exit'] {
    this.#forgetDone()
    return { listening: [...this.#servers].some(server => server.listening), unfinished: this.#open.size }
  }

  #forgetDone(): void {
    for (const response of this.#open) if (response.writableEnded || response.destroyed) this.#open.delete(response)
  }
}

const addresses = new WeakMap<Server, string>()

/** A closed server has no address, so its last one is remembered. */
function addressOf(server: Server): string {
  const address = server.address() as AddressInfo | string | null
  const text = address === null ? undefined : typeof address === 'string' ? address : `port ${address.port}`
  if (text !== undefined) addresses.set(server, text)
  return text ?? addresses.get(server) ?? 'a port'
}
