/**
 * Notes a query or command for whoever observes calls (docs/observe.md), so that a slow database is not taken for slow
 * work of our own. Nothing is noted while nobody does.
 */
import { calls } from '../channels.ts'
import { now } from '../clock.ts'
import type { OutboundOutcome, OutboundRecord } from '../record.ts'
import { callBegins, callEnds, type Scope } from '../scope.ts'

/** Undefined while nobody observes calls. `where` must hold no user name and no password. */
export function noteCall(kind: OutboundRecord['kind'], where: Whereabouts, operation: string): NotedCall | undefined {
  return calls.hasSubscribers ? new NotedCall(kind, peerOf(where), operation) : undefined
}

export interface Whereabouts {
  readonly host?: unknown
  readonly port?: unknown
  readonly database?: unknown
}

export class NotedCall {
  readonly #kind: OutboundRecord['kind']
  readonly #peer: string
  readonly #operation: string
  readonly #startedAtMs: number = now()
  readonly #scope: Scope | undefined = callBegins()
  #sentAtMs: number | undefined
  #over = false

  constructor(kind: OutboundRecord['kind'], peer: string, operation: string) {
    this.#kind = kind
    this.#peer = peer
    this.#operation = operation
  }

  /** It has left our line. */
  sent(): void {
    this.#sentAtMs = now()
  }

  /** It is over for the caller. Any number of times. */
  end(error?: unknown): void {
    if (this.#over) return
    this.#over = true
    callEnds(this.#scope)
    const endedAtMs = now()
    const outcome = outcomeOf(error)
    calls.publish({
      kind: this.#kind,
      peer: this.#peer,
      operation: this.#operation,
      status: undefined,
      outcome,
      errorCode: textOf(error, 'code'),
      phase: textOf(error, 'phase'),
      startedAtMs: this.#startedAtMs,
      queuedMs: this.#sentAtMs === undefined ? 0 : this.#sentAtMs - this.#startedAtMs,
      connectMs: 0,
      sentAtMs: this.#sentAtMs,
      firstByteAtMs: outcome === 'answered' ? endedAtMs : undefined,
      endedAtMs,
      serverTiming: undefined,
      answerLay: undefined,
      retries: 0,
      scope: this.#scope,
    })
  }
}

function peerOf({ host, port, database }: Whereabouts): string {
  const name = typeof host === 'string' && host !== '' ? host : 'localhost'
  const at = typeof port === 'number' || typeof port === 'string' ? `${name}:${port}` : name
  return typeof database === 'string' || typeof database === 'number' ? `${at}/${database}` : at
}

/** An error that the server itself has sent is an answer. */
function outcomeOf(error: unknown): OutboundOutcome {
  if (error === undefined || error === null) return 'answered'
  if (textOf(error, 'code') === 'MELTPROOF_DEADLINE_EXCEEDED') return 'timeout'
  const { name } = error as { name?: unknown }
  if (name === 'AbortError') return 'aborted'
  // By PostgreSQL, MySQL and Redis.
  const said = textOf(error, 'severity') ?? textOf(error, 'sqlState') ?? (name === 'ReplyError' ? name : undefined)
  return said === undefined ? 'failed' : 'answered'
}

function textOf(value: unknown, key: string): string | undefined {
  const text = (value as Record<string, unknown> | null | undefined)?.[key]
  return typeof text === 'string' ? text : undefined
}
