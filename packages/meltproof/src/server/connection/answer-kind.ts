/** What the answer to a shed request depends on. */
export interface AnswerKind {
  /** True for a CORS preflight. */
  readonly preflight: boolean
  /** True for a client that prefers HTML. */
  readonly page: boolean
  /** True for a HEAD request. */
  readonly head: boolean
  readonly keepAlive: boolean
}
