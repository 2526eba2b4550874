/** Repeats a task until it is stopped. */

/**
 * Calls `take` now and every `ms`, one call at a time, so that slow calls do not pile up. `take` must not throw. `stop`
 * resolves when the current call has ended.
 */
export function every(ms: number, take: () => Promise<void>): { stop(): Promise<void> } {
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
