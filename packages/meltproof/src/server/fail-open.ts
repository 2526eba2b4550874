/**
 * Fail open: the one place that decides what an exception of ours does. It opens the door for good, is reported once, and
 * never reaches the app. From then on the gate is not asked any more, and the server is as it was.
 */
export interface FailOpenHooks {
  /** Takes meltproof off the server. */
  readonly stepAside: () => void
  /** Starts every request that waits. */
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

  /** The gate is not asked any more. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Opens because somebody asked for it. */
  open(): void {
    if (this.#isOpen) return
    this.#stepAside()
    this.#hooks.startWaiting()
  }

  /** Opens because of an error. */
  fail(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    if (!this.#isOpen) {
      this.#stepAside()
      // Not now: the request that is being decided on goes first, or pipelined answers would change places.
      process.nextTick(this.#hooks.startWaiting)
    }
    this.#hooks.onFailure(error)
  }

  /** Runs code of ours. */
  guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.fail(error)
    }
  }

  #stepAside(): void {
    this.#isOpen = true
    this.#hooks.stepAside()
  }
}
