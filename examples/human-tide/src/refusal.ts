/** The reason why a request is not answered 2xx. Thrown where it is known; http/problem.ts makes the answer. Pure. */
export class Refusal extends Error {
  readonly status: number
  /** Stable, for programs; the message is for people. */
  readonly code: string
  readonly more: Readonly<Record<string, unknown>>
  readonly retryAfterS: number | undefined

  constructor(
    status: number,
    code: string,
    message: string,
    more: Readonly<Record<string, unknown>> = {},
    retryAfterS?: number,
  ) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.code = code
    this.more = more
    this.retryAfterS = retryAfterS
  }
}
