/** A mistake that the user can correct: one sentence on stderr and an exit code, never a stack. */
export class UserError extends Error {
  override readonly name = 'UserError'
  readonly exitCode: number

  /** `exitCode`: 2 for bad input, 1 for failed or unstored results; 130, 143 or 129 after Ctrl-C, SIGTERM or SIGHUP. */
  constructor(message: string, exitCode = 2) {
    super(message)
    this.exitCode = exitCode
  }
}
