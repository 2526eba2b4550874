/** How a call ended, derived from the error that its caller got. Pure. */
import type { OutboundOutcome } from '../record.ts'

const TIMEOUT_CODES = /^(MELTPROOF_DEADLINE_EXCEEDED|UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT|ETIMEDOUT)$/

export function outcomeOf(error: unknown): OutboundOutcome {
  if (error === undefined || error === null) return 'answered'
  const name = textOf(error, 'name')
  if (TIMEOUT_CODES.test(codeOf(error) ?? '') || name === 'TimeoutError') return 'timeout'
  if (name === 'AbortError') return 'aborted'
  // An error sent by PostgreSQL, MySQL or Redis is an answer.
  const sent = textOf(error, 'severity') ?? textOf(error, 'sqlState')
  return sent !== undefined || name === 'ReplyError' ? 'answered' : 'failed'
}

/** For an AggregateError of Happy Eyeballs, the code is that of its first error. */
export function codeOf(error: unknown): string | undefined {
  return textOf(error, 'code') ?? textOf((error as { errors?: unknown[] } | null | undefined)?.errors?.[0], 'code')
}

export function textOf(value: unknown, key: string): string | undefined {
  const text = (value as Record<string, unknown> | null | undefined)?.[key]
  return typeof text === 'string' ? text : undefined
}
