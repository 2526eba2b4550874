/** What the answer to a shed request depends on. `preflight`: the request is a CORS preflight. */
export interface AnswerKind {
  readonly preflight: boolean
  /** True for a client that prefers HTML. */
  readonly page: boolean
  readonly head: boolean
  readonly keepAlive: boolean
}
