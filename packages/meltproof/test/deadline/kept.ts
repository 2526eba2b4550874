/** Our timers are unref'd, so that they keep no process alive; a test that waits for one needs something that does. */
export async function kept<T>(promise: Promise<T>): Promise<T> {
  const keeper = setInterval(() => {}, 1000)
  try {
    return await promise
  } finally {
    clearInterval(keeper)
  }
}
