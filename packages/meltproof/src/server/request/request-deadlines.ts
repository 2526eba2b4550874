/**
 * A deadline for every request of a server. Its handler works under a budget: when that runs out before the answer has
 * begun, the client gets a 504 in time and the work is cancelled; when the client leaves, the work is cancelled too.
 *
 * A caller may say that it waits less long. To a caller that the operator trusts that is the budget. Anybody else is told
 * 504 when the time is up, and nothing else changes: what its handler does goes on until the server's own deadline.
 *
 * Made only for a server with `deadlineMs`; without it a request pays nothing for any of this.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { now } from '../../clock.ts'
import { Budget } from '../../deadline/budget.ts'
import { runWithBudget } from '../../deadline/context.ts'
import { type DeadlineHeader, readDeadline } from '../../deadline/headers.ts'
import { type FairTimer, startFairTimer } from '../../deadline/fair-timer.ts'
import { MeltproofError } from '../../errors.ts'
import type { Exchange } from './exchange.ts'
import type { FromPeer } from './peers.ts'

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

  /** Opens the budget of a request whose handler starts now. `onLate` answers it with a 504. */
  open(exchange: Exchange, request: IncomingMessage, response: ServerResponse, onLate: () => void): Budget {
    const { arrivedAt, answerBy } = exchange
    const workBy = this.#trusts?.(request) === true ? answerBy : arrivedAt + this.#limitMs
    let late = false
    const timers: FairTimer[] = []
    const after = (ms: number, act: () => void): void => {
      timers.push(startFairTimer(Math.max(ms, LEAST_MS), act, { creditCapMs: 0 }))
    }
    /** False when the answer has begun, which is in time, or a body is still coming in, at the pace of its client. */
    const answeredLate = (): boolean => {
      if (late) return true
      if (response.headersSent || response.writableEnded || isUploading(request)) return false
      late = true
      onLate()
      return true
    }
    /** What the handler does with a body that outlasted its time has that time again once the body is there. */
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
      // A handler that is at work on an answer that came too late keeps its budget.
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
