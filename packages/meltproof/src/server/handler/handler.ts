/** Runs a handler: counts memory, enters the chain of tiers, sets a deadline, records the request, emits its event. */
import { runInChain } from '../../chain.ts'
import { requestsAreObserved } from '../../channels.ts'
import { runWithBudget } from '../../deadline/context.ts'
import type { FailOpen } from '../../fail-open.ts'
import { stallNaming } from '../../signals/named-stalls.ts'
import type { Exchange } from '../request/exchange.ts'
import type { RequestPolicy } from '../request/policy.ts'
import { mayBringBody } from '../request/request-head.ts'
import { requestObserver } from '../response/observer.ts'
import { chainOf } from './chain-of.ts'
import { openBudget, type RequestDeadline } from './request-deadline.ts'

export interface HandlerParts {
  readonly policy: RequestPolicy
  readonly deadline: RequestDeadline | undefined
  readonly failOpen: FailOpen
  readonly onLate: (exchange: Exchange) => void
  readonly emit: (exchange: Exchange, event: string) => boolean
}

/** Returns the function that runs a handler. That function returns the result of the server's `emit`. */
export function handlerOf(parts: HandlerParts): (exchange: Exchange, event: string) => boolean {
  const { policy, deadline, failOpen, onLate, emit } = parts

  const emitInContext = (exchange: Exchange, event: string): boolean => {
    const context = stallNaming.requestContext
    if (context === undefined) return emit(exchange, event)
    exchange.running = { request: exchange.request }
    return context(exchange.running, () => emit(exchange, event))
  }

  const observe = (exchange: Exchange, event: string): boolean => {
    const { request, response } = exchange
    const tells = policy.sendsServerTiming?.(request) === true
    policy.reportsLoad?.(request, response!)
    let returned = false
    try {
      const observer = tells || requestsAreObserved() ? requestObserver() : undefined
      const handled =
        observer === undefined
          ? emitInContext(exchange, event)
          : observer.run(exchange, tells, () => emitInContext(exchange, event))
      returned = true
      return handled
    } finally {
      // After an exception nothing ends the response, so its permit is held until the client leaves.
      if (!returned) exchange.threw = true
    }
  }

  const run = (exchange: Exchange, event: string): boolean => {
    if (deadline === undefined) return observe(exchange, event)
    try {
      exchange.budget = openBudget(deadline, exchange, () => onLate(exchange))
    } catch (error) {
      failOpen.fail(error)
      return observe(exchange, event)
    }
    return runWithBudget(exchange.budget, () => observe(exchange, event))
  }

  return (exchange, event) => {
    const { request, response } = exchange
    if (exchange.ungated && policy.answers?.(request, response!) === true) return true
    if (policy.memory !== undefined && exchange.heldBody === undefined) {
      exchange.heldBody = mayBringBody(request)
      policy.memory.entered(exchange.heldBody)
    }
    const chain = chainOf(request, response!, policy)
    if (chain !== undefined) return runInChain(chain, () => run(exchange, event))
    return run(exchange, event)
  }
}
