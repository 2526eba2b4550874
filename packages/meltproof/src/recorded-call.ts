/**
 * One call to somebody else, from its begin to its end, when its OutboundRecord is published. All who observe calls
 * write here: HTTP clients (timing/http-calls.ts), and the adapters of databases and caches.
 */
import { calls } from './channels.ts'
import { now } from './clock.ts'
import type { OutboundOutcome, OutboundRecord } from './record.ts'
import { callBegins, callEnds, type Scope } from './scope.ts'

/** A shorter wait for a connection is not a queue, ms. */
const NO_QUEUE_MS = 0.5

export class RecordedCall implements OutboundRecord {
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
  #over = false

  constructor(kind: OutboundRecord['kind'], peer: string, operation: string) {
    this.kind = kind
    this.peer = peer
    this.operation = operation
  }

  /** It goes out. Until now it waited for a connection to be made, for its turn on one, or for its own caller. */
  sent(waitedFor: 'connection' | 'turn' | 'caller'): void {
    this.sentAtMs = now()
    const waitedMs = this.sentAtMs - this.startedAtMs
    this.connectMs = waitedFor === 'connection' ? waitedMs : 0
    if (waitedFor === 'turn' && waitedMs > NO_QUEUE_MS) this.queuedMs = waitedMs
  }

  /** The last of its body went out, unless the answer came before. */
  bodySent(): void {
    if (this.firstByteAtMs === undefined) this.sentAtMs = now()
  }

  /** The head of an HTTP answer is here. */
  answered(status: number | undefined, serverTiming: string | undefined): void {
    this.firstByteAtMs = now()
    this.status = status
    this.serverTiming = serverTiming
  }

  /** It is over for the caller. Any number of times. */
  end(error?: unknown): void {
    if (this.#over) return
    this.#over = true
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
