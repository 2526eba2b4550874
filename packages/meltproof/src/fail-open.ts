/** Fail open: an exception of meltproof removes it from the server, is reported once, and never reaches the app. */
export interface FailOpenHooks {
  readonly stepAside: () => void
  readonly startWaiting: () => void
  readonly onFailure: (error: unknown) => void
}

export class FailOpen {
  readonly #hooks: FailOpenHooks
  isOpen = false
  /** True if meltproof has failed: none of its code may run for requests in progress. */
  failed = false

  constructor(hooks: FailOpenHooks) {
    this.#hooks = hooks
  }

  open(): void {
    if (this.isOpen) return
    this.isOpen = true
    // Waiting requests are observed like those in service, so they start first.
    this.#hooks.startWaiting()
    this.#hooks.stepAside()
  }

  fail(error: unknown): void {
    if (this.failed) return
    this.failed = true
    // Deferred: the request that is being decided on goes first, or pipelined answers would change places.
    if (!this.isOpen) {
      this.isOpen = true
      this.#hooks.stepAside()
      process.nextTick(this.#hooks.startWaiting)
    }
    this.#hooks.onFailure(error)
  }

  guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.fail(error)
    }
  }
}
