/** Sees the HTTP servers that are asked something: their timeouts, and what they leave when the process exits. */
import { subscribe } from 'node:diagnostics_channel'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Facts, ServerFacts } from '../facts.ts'
import { quietly, type Watching } from './watching.ts'

interface Exchange {
  readonly server: Server
  readonly response: ServerResponse
}

/** Above this, answers that are done are forgotten at each request; so many open ones are remembered at most. */
const MANY_OPEN = 1000

export class Servers {
  requests = 0
  readonly #servers = new Set<Server>()
  readonly #open = new Set<ServerResponse>()

  constructor(watching: Watching) {
    subscribe('http.server.request.start', message =>
      quietly(() => {
        const { server, response } = message as Exchange
        if (watching.on) this.requests++
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

  atExit(): Facts['exit'] {
    this.#forgetDone()
    return { listening: [...this.#servers].some(server => server.listening), unfinished: this.#open.size }
  }

  #forgetDone(): void {
    for (const response of this.#open) if (response.writableEnded || response.destroyed) this.#open.delete(response)
  }
}

const addresses = new WeakMap<Server, string>()

/** A server that is closed has none any more. */
function addressOf(server: Server): string {
  const address = server.address() as AddressInfo | string | null
  const text = address === null ? undefined : typeof address === 'string' ? address : `port ${address.port}`
  if (text !== undefined) addresses.set(server, text)
  return text ?? addresses.get(server) ?? 'a port'
}
