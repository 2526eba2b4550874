/** Repeats something until it is stopped. */

export interface Repetition {
  /** Resolves when the call that is under way has ended. */
  stop(): Promise<void>
}

/** Calls `take` now and every `ms`, one call at a time: a slow one must not pile up. It must not throw. */
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
