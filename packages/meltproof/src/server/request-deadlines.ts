/**
 * A budget for every request of a server: everything its handler starts works under it. When it runs out before the
 * answer has begun, the client gets a 504 in time and the work is cancelled; when the client leaves, the work is
 * cancelled too. Made only for a server with `deadlineMs`; without it a request pays nothing for any of this.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { now } from '../clock.ts'
import { Budget } from '../deadline/budget.ts'
import { runWithBudget } from '../deadline/context.ts'
import { type DeadlineHeader, readDeadline } from '../deadline/headers.ts'
import { MeltproofError } from '../errors.ts'
import { answerLate } from './late-answer.ts'
import { describeHead } from './request-head.ts'

export class RequestDeadlines {
  readonly #limitMs: number
  readonly #headers: readonly DeadlineHeader[]

  constructor(limitMs: number, headers: readonly DeadlineHeader[]) {
    this.#limitMs = limitMs
    this.#headers = headers
  }

  /**
   * Opens the budget of a request that arrived at `arrivedAtMs`; time it waited at the door is part of it. Undefined
   * when that used it up: then the client has been answered, and the handler need not start.
   */
  open(arrivedAtMs: number, request: IncomingMessage, response: ServerResponse): Budget | undefined {
    const askedMs = this.#headers.length === 0 ? undefined : readDeadline(request.headers, this.#headers)
    const limitMs = askedMs === undefined ? this.#limitMs : Math.min(askedMs, this.#limitMs)
    const leftMs = limitMs - (now() - arrivedAtMs)
    if (leftMs <= 0) {
      answerLate(request, response, prefersHtml(request))
      return undefined
    }
    const budget = new Budget(leftMs, {
      hard: true,
      phase: 'handler',
      what: 'the request',
      onExpired: () => {
        // An answer that has begun was in time, and a body that is still coming in comes at the client's pace.
        if (response.headersSent || response.writableEnded || isUploading(request)) return false
        answerLate(request, response, prefersHtml(request))
        return true
      },
    })
    response.on('close', () => {
      if (response.writableFinished || response.writableEnded) budget.settle()
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

function isUploading(request: IncomingMessage): boolean {
  return !request.complete && request.readableFlowing !== null
}

function prefersHtml(request: IncomingMessage): boolean {
  return describeHead(request.rawHeaders).prefersHtml
}
