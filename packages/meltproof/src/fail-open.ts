/**
 * Fail open: an exception of ours takes meltproof off the server for good, is reported once, and never reaches the app.
 */
export interface FailOpenHooks {
  readonly stepAside: () => void
  readonly startWaiting: () => void
  readonly onFailure: (error: unknown) => void
}

export class FailOpen {
  readonly #hooks: FailOpenHooks
  #isOpen = false
  #failed = false

  constructor(hooks: FailOpenHooks) {
    this.#hooks = hooks
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  open(): void {
    if (this.#stepAside()) this.#hooks.startWaiting()
  }

  fail(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    // Not now: the request that is being decided on goes first, or pipelined answers would change places.
    if (this.#stepAside()) process.nextTick(this.#hooks.startWaiting)
    this.#hooks.onFailure(error)
  }

  guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.fail(error)
    }
  }

  #stepAside(): boolean {
    if (this.#isOpen) return false
    this.#isOpen = true
    this.#hooks.stepAside()
    return true
  }
}
