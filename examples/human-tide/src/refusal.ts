/** The reason why a request is not answered 2xx. The code that finds it throws it; http/problem.ts answers. Pure. */
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
