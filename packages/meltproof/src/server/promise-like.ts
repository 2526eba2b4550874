/** Hooks must answer at once. One that is async answers a promise, and its rejection must not become the app's. Pure. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** Nobody else will look at how it ends. */
export function ignoreEnd(promise: PromiseLike<unknown>): void {
  promise.then(
    () => undefined,
    () => undefined,
  )
}
