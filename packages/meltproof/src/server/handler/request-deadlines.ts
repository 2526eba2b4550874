/**
 * A deadline for every request of a server with `deadlineMs`. Its handler works under a budget: when that runs out before
 * the answer has begun, the client gets a 504 in time and the work is cancelled; when the client leaves, too.
 *
 * A caller may say that it waits less long. If the operator trusts it, that is the budget. Any other caller gets its 504
 * in that time, and the work goes on until the server's own deadline.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { now } from '../../clock.ts'
import { Budget } from '../../deadline/budget.ts'
import { runWithBudget } from '../../deadline/context.ts'
import { type DeadlineHeader, readDeadline } from '../../deadline/headers.ts'
import { type FairTimer, startFairTimer } from '../../deadline/fair-timer.ts'
import { MeltproofError } from '../../errors.ts'
import type { Exchange } from '../request/exchange.ts'
import type { FromPeer } from '../request/peers.ts'
import { describeHead } from '../request/request-head.ts'
import { answerLate } from '../response/late-answer.ts'

export class RequestDeadlines {
  readonly #limitMs: number
  readonly #headers: readonly DeadlineHeader[]
  readonly #trusts: FromPeer | undefined

  constructor(limitMs: number, headers: readonly DeadlineHeader[], trusts: FromPeer | undefined) {
    this.#limitMs = limitMs
    this.#headers = headers
    this.#trusts = trusts
  }

  /** For how long after its arrival somebody waits for the answer of a request, ms. */
  answerMs(request: IncomingMessage): number {
    if (this.#headers.length === 0) return this.#limitMs
    return Math.min(readDeadline(request.headers, this.#headers) ?? Number.POSITIVE_INFINITY, this.#limitMs)
  }

  /** Opens the budget of a request whose handler starts now. `onLate` is called when it has been answered with a 504. */
  open(exchange: Exchange, request: IncomingMessage, response: ServerResponse, onLate: () => void): Budget {
    const { arrivedAt, answerBy } = exchange
    const workBy = this.#trusts?.(request) === true ? answerBy : arrivedAt + this.#limitMs
    let late = false
    const timers: FairTimer[] = []
    const after = (ms: number, act: () => void): void => {
      timers.push(startFairTimer(Math.max(ms, LEAST_MS), act, { creditCapMs: 0 }))
    }
    /** False when the answer has begun, or when a body is still coming in at the pace of its client. */
    const answeredLate = (): boolean => {
      if (late) return true
      if (response.headersSent || response.writableEnded || isUploading(request)) return false
      late = true
      answerLate(request, response, prefersHtml(request))
      onLate()
      return true
    }
    /** An upload may last longer than the deadline. Once it is complete, its handler has that time again. */
    const againAfterUpload = (ms: number, act: () => void): void => {
      if (!response.headersSent && isUploading(request)) request.once('end', () => after(ms, act))
    }
    const nowMs = now()
    const workMs = workBy - arrivedAt
    const budget = new Budget(Math.max(workBy - nowMs, LEAST_MS), {
      hard: true,
      phase: 'handler',
      what: 'the request',
      onExpired: () => {
        if (answeredLate()) return true
        againAfterUpload(workMs, () => answeredLate() && budget.expire())
        return false
      },
    })
    exchange.budget = budget
    if (answerBy < workBy) {
      after(answerBy - nowMs, () => {
        if (!answeredLate()) againAfterUpload(answerBy - arrivedAt, answeredLate)
      })
    }
    response.on('close', () => {
      for (const timer of timers) timer.cancel()
      // A handler still at work after its 504 keeps its budget.
      if (late) return
      if (response.writableEnded) budget.settle()
      else budget.cancel(new MeltproofError('MELTPROOF_CANCELLED', 'The client has left before it was answered.'))
    })
    budget.watch()
    return budget
  }

  /** Runs the handler under its budget. Its exceptions pass. */
  run<R>(budget: Budget, handle: () => R): R {
    return runWithBudget(budget, handle)
  }
}

/** A request that started has at least so long, ms. */
const LEAST_MS = 1

function isUploading(request: IncomingMessage): boolean {
  return !request.complete && request.readableFlowing !== null
}

function prefersHtml(request: IncomingMessage): boolean {
  return describeHead(request.rawHeaders).prefersHtml
}
