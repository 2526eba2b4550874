/** Hands a request that may start to the app: under a deadline, where requests have one, and with its timeline noted. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { requestsAreObserved } from '../../channels.ts'
import type { Budget } from '../../deadline/budget.ts'
import type { FailOpen } from '../fail-open.ts'
import type { Exchange } from '../request/exchange.ts'
import type { RequestPolicy } from '../request/policy.ts'
import { observed } from '../response/observed.ts'
import type { RequestDeadlines } from './request-deadlines.ts'
import type { RequestEnd } from './request-end.ts'

/** The server's own `emit`. */
export type Emit = (event: string, request: IncomingMessage, response: ServerResponse) => boolean

export class Handler {
  readonly #policy: RequestPolicy
  readonly #deadlines: RequestDeadlines | undefined
  readonly #end: RequestEnd
  readonly #failOpen: FailOpen
  readonly #emit: Emit

  constructor(
    policy: RequestPolicy,
    deadlines: RequestDeadlines | undefined,
    end: RequestEnd,
    failOpen: FailOpen,
    emit: Emit,
  ) {
    this.#policy = policy
    this.#deadlines = deadlines
    this.#end = end
    this.#failOpen = failOpen
    this.#emit = emit
  }

  /** Answers what `emit` answers. Exceptions of the app pass. */
  run(exchange: Exchange, event: string, request: IncomingMessage, response: ServerResponse): boolean {
    if (exchange.ungated && this.#policy.answers?.(request, response) === true) return true
    const deadlines = this.#deadlines
    if (deadlines === undefined) return this.#observe(exchange, event, request, response)
    let budget: Budget
    try {
      budget = deadlines.open(exchange, request, response, () => this.#end.answeredLate(exchange))
    } catch (error) {
      this.#failOpen.fail(error)
      return this.#observe(exchange, event, request, response)
    }
    return deadlines.run(budget, () => this.#observe(exchange, event, request, response))
  }

  #observe(exchange: Exchange, event: string, request: IncomingMessage, response: ServerResponse): boolean {
    const tells = this.#tellsTiming(request)
    let returned = false
    try {
      const handled =
        !tells && !requestsAreObserved()
          ? this.#emit(event, request, response)
          : observed(exchange, request, response, tells, () => this.#emit(event, request, response))
      returned = true
      return handled
    } finally {
      // Nobody will end the response: its permit ends when the client leaves.
      if (!returned) exchange.threw = true
    }
  }

  #tellsTiming(request: IncomingMessage): boolean {
    const { tellsTiming } = this.#policy
    if (tellsTiming === undefined) return false
    try {
      return tellsTiming(request)
    } catch {
      return false // the session of an HTTP/2 client that has gone has no address any more
    }
  }
}
