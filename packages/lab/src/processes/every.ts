/** Repeats a task until it is stopped. */

export interface Repetition {
  /** Resolves when the current call has ended. */
  stop(): Promise<void>
}

/** Calls `take` now and every `ms`, one call at a time, so that slow calls do not pile up. `take` must not throw. */
export function every(ms: number, take: () => Promise<void>): Repetition {
  let taking: Promise<void> | undefined
  const next = (): void => {
    taking ??= take().finally(() => {
      taking = undefined
    })
  }
  next()
  const timer = setInterval(next, ms)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await taking
    },
  }
}
