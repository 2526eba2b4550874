/** The errors of meltproof: one table, one class. Each message says what was expected, what arrived and what to do. */

/** Every installed copy of meltproof marks its errors with the same symbol. */
const BRAND = Symbol.for('meltproof.error')

const MEANINGS = {
  MELTPROOF_OPTION_UNKNOWN: 'An option has a name that meltproof does not know.',
  MELTPROOF_OPTION_INVALID: 'An option has a value that is not allowed.',
  MELTPROOF_SERVER_INVALID:
    'protect() was given something that is not a server of node:http, node:https or node:http2.',
  MELTPROOF_SERVER_LISTENING: 'protect() was called after listen().',
  MELTPROOF_SERVER_PROTECTED: 'protect() was called twice on one server, with options the second time.',
  MELTPROOF_PEER_MISSING: 'An entry point of meltproof needs an optional package that is not installed.',
  MELTPROOF_DEADLINE_EXCEEDED: 'A deadline passed before the work was done.',
  MELTPROOF_CANCELLED: 'The work was cancelled because its client has left.',
  MELTPROOF_OUTBOUND_FULL:
    'A call was not started: the maximum number of calls to its origin is in flight, or the origin refuses most calls.',
  MELTPROOF_OUTBOUND_DOWN: 'A call was not started: the last calls to its origin got no answer.',
  MELTPROOF_SHED: 'A limiter did not start the work, because the limiter is overloaded or closed.',
  MELTPROOF_CLIENT_INVALID: 'bound() was given something other than a client or pool that it supports.',
  MELTPROOF_CLIENT_DISCARDED:
    'A query was sent on a database connection that bound() had closed, because it was no longer safe to use.',
  MELTPROOF_TRANSACTION_BROKEN:
    'A statement other than ROLLBACK or cleanup was sent in a transaction after another was cancelled or refused.',
} as const

export type ErrorCode = keyof typeof MEANINGS

/** The meaning of each code. */
export const ERROR_CODES: Readonly<Record<ErrorCode, string>> = MEANINGS

/** The status of the answer if a handler does not catch the error. Other errors are the server's own fault: 500. */
const STATUS_CODES: Partial<Record<ErrorCode, number>> = { MELTPROOF_DEADLINE_EXCEEDED: 504, MELTPROOF_SHED: 503 }

/** An error of meltproof. Use {@link isMeltproofError} to recognise it, also across duplicate installs. */
export class MeltproofError extends Error {
  override readonly name: string = 'MeltproofError'
  /** Stable across versions; see {@link ERROR_CODES}. */
  readonly code: ErrorCode
  /** 504 for a missed deadline, 503 for shed work, else absent. Express, Fastify and Koa answer with this status. */
  declare readonly statusCode?: number

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    const statusCode = STATUS_CODES[code]
    if (statusCode !== undefined) this.statusCode = statusCode
    Object.defineProperty(this, BRAND, { value: true })
  }
}

/** True for an error raised by any installed copy of meltproof. */
export function isMeltproofError(error: unknown): error is MeltproofError {
  return typeof error === 'object' && error !== null && BRAND in error
}
