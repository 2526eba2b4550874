/** Keeps the process alive while a test waits for a timer of meltproof, because those are unref'd. */
export async function kept<T>(promise: Promise<T>): Promise<T> {
  const keeper = setInterval(() => {}, 1000)
  try {
    return await promise
  } finally {
    clearInterval(keeper)
  }
}
