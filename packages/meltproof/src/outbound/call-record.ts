/** Writes the record of one call, and publishes it at the call's end. */
import { calls } from '../channels.ts'
import { now } from '../clock.ts'
import type { OutboundOutcome, OutboundRecord } from '../record.ts'
import { callBegins, callEnds, type Scope } from '../scope.ts'
import { type Headers, headerOf } from './headers.ts'

/** A shorter wait for a connection is not a queue, ms. */
const NO_QUEUE_MS = 0.5

export class CallRecord implements OutboundRecord {
  readonly kind: OutboundRecord['kind']
  readonly peer: string
  readonly operation: string
  readonly startedAtMs: number = now()
  readonly scope: Scope | undefined = callBegins()
  status: number | undefined = undefined
  outcome: OutboundOutcome = 'answered'
  errorCode: string | undefined = undefined
  phase: string | undefined = undefined
  queuedMs = 0
  connectMs: number | undefined = undefined
  sentAtMs: number | undefined = undefined
  firstByteAtMs: number | undefined = undefined
  endedAtMs = 0
  serverTiming: string | undefined = undefined
  #whole = false

  constructor(kind: OutboundRecord['kind'], peer: string, operation: string) {
    this.kind = kind
    this.peer = peer
    this.operation = operation
  }

  connected(made: boolean, whole: boolean): void {
    this.#whole = whole
    this.sentAtMs = now()
    const waitedMs = this.sentAtMs - this.startedAtMs
    this.connectMs = made ? waitedMs : 0
    this.queuedMs = made || waitedMs <= NO_QUEUE_MS ? 0 : waitedMs
  }

  /** A request that was whole when it got its connection left at once; we may be told of that much later. */
  sent(): void {
    if (this.firstByteAtMs === undefined && !this.#whole) this.sentAtMs = now()
  }

  answered(status: number | undefined, headers: Headers): void {
    if (this.firstByteAtMs !== undefined) return
    this.firstByteAtMs = now()
    this.status = status
    this.serverTiming = headerOf(headers, 'server-timing')
  }

  end(error: unknown): void {
    callEnds(this.scope)
    this.endedAtMs = now()
    this.outcome = outcomeOf(error)
    this.errorCode = codeOf(error)
    this.phase = textOf(error, 'phase')
    if (this.outcome === 'answered') this.firstByteAtMs ??= this.endedAtMs
    calls.publish(this)
  }
}

const TIMEOUT_CODES: ReadonlySet<string | undefined> = new Set([
  'MELTPROOF_DEADLINE_EXCEEDED',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
])

function outcomeOf(error: unknown): OutboundOutcome {
  if (error === undefined || error === null) return 'answered'
  const name = textOf(error, 'name')
  if (TIMEOUT_CODES.has(codeOf(error)) || name === 'TimeoutError') return 'timeout'
  if (name === 'AbortError') return 'aborted'
  // An error that PostgreSQL, MySQL or Redis sent is an answer.
  const sent = textOf(error, 'severity') ?? textOf(error, 'sqlState')
  return sent !== undefined || name === 'ReplyError' ? 'answered' : 'failed'
}

/** Happy Eyeballs fails with an AggregateError; its reasons have the code. */
function codeOf(error: unknown): string | undefined {
  return textOf(error, 'code') ?? textOf((error as { errors?: unknown[] } | null | undefined)?.errors?.[0], 'code')
}

function textOf(value: unknown, key: string): string | undefined {
  const text = (value as Record<string, unknown> | null | undefined)?.[key]
  return typeof text === 'string' ? text : undefined
}
