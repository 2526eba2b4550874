/** Fail open: a failure of meltproof removes meltproof from the server, is reported once and never reaches the app. */
export interface FailOpenHooks {
  readonly stepAside: () => void
  readonly startWaiting: () => void
  readonly onFailure: (error: unknown) => void
}

export class FailOpen {
  readonly #hooks: FailOpenHooks
  isOpen = false
  /** True once meltproof has failed: from then on none of its code may run, not even for requests in progress. */
  failed = false

  constructor(hooks: FailOpenHooks) {
    this.#hooks = hooks
  }

  open(): void {
    if (this.isOpen) return
    this.isOpen = true
    // Waiting requests start first, while their handlers can still be observed.
    this.#hooks.startWaiting()
    this.#hooks.stepAside()
  }

  fail(error: unknown): void {
    if (this.failed) return
    this.failed = true
    if (!this.isOpen) {
      this.isOpen = true
      this.#hooks.stepAside()
      // Waiting requests start after the one being decided. Otherwise pipelined answers would be in the wrong order.
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
