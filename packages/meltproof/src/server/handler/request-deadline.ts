/**
 * A deadline for every request: when its budget ends before the answer has begun, the client gets a 504 and the work is
 * cancelled. Any caller may ask for an earlier 504; the work is cancelled earlier only for a trusted caller.
 */
import type { IncomingMessage } from 'node:http'
import { now } from '../../clock.ts'
import { Budget } from '../../deadline/budget.ts'
import { type DeadlineHeader, readDeadline } from '../../deadline/headers.ts'
import { type FairTimer, startFairTimer } from '../../deadline/fair-timer.ts'
import { MeltproofError } from '../../errors.ts'
import { onBodyEnd } from '../request/body-readers.ts'
import type { Exchange } from '../request/exchange.ts'
import type { FromPeer } from '../request/peers.ts'

export interface RequestDeadline {
  readonly limitMs: number
  readonly headers: readonly DeadlineHeader[]
  readonly trusts: FromPeer | undefined
}

export function answerMs({ headers, limitMs }: RequestDeadline, request: IncomingMessage): number {
  if (headers.length === 0) return limitMs
  return Math.min(readDeadline(request.headers, headers) ?? Number.POSITIVE_INFINITY, limitMs)
}

/** Opens the budget of a request whose handler starts now. `onLate` answers with a 504. */
export function openBudget({ limitMs, trusts }: RequestDeadline, exchange: Exchange, onLate: () => void): Budget {
  const { arrivedAt, answerBy, request } = exchange
  const response = exchange.response!
  const workBy = trusts?.(request) === true ? answerBy : arrivedAt + limitMs
  let late = false
  const timers: FairTimer[] = []
  const after = (ms: number, act: () => void): void => {
    timers.push(startFairTimer(Math.max(ms, LEAST_MS), act, { creditCapMs: 0 }))
  }
  /** Answers with a 504. Returns false instead if the answer has begun, or while the client still sends the body. */
  const answeredLate = (): boolean => {
    if (late) return true
    if (response.headersSent || response.writableEnded || isUploading(request)) return false
    late = true
    onLate()
    return true
  }
  /** An upload may last longer than the deadline. After its end, the handler has the full time again. */
  const againAfterUpload = (ms: number, act: () => void): void => {
    if (!response.headersSent && isUploading(request)) onBodyEnd(request, () => after(ms, act))
  }
  const nowMs = now()
  const workMs = workBy - arrivedAt
  const budget = new Budget(Math.max(workBy - nowMs, LEAST_MS), {
    hard: true,
    phase: 'handler',
    what: 'the request',
    // A handler that does not end its response has the same time again. Work that begins after that is not limited.
    graceMs: limitMs,
    onExpired: () => {
      if (answeredLate()) return true
      againAfterUpload(workMs, () => answeredLate() && budget.expire())
      return false
    },
  })
  if (answerBy < workBy) {
    after(answerBy - nowMs, () => {
      if (!answeredLate()) againAfterUpload(answerBy - arrivedAt, answeredLate)
    })
  }
  response.on('close', () => {
    for (const timer of timers) timer.cancel()
    // A handler that still works after its 504 keeps its budget.
    if (late) return
    if (response.writableEnded) budget.settle()
    else budget.cancel(new MeltproofError('MELTPROOF_CANCELLED', 'The client has left before it was answered.'))
  })
  budget.watch()
  return budget
}

/** A request that is started has at least this much time, ms. */
const LEAST_MS = 1

function isUploading(request: IncomingMessage): boolean {
  return !request.complete && request.readableFlowing !== null
}
