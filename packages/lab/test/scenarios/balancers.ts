/** Skips tests of a real balancer, with a message, where it is not installed. In CI they fail instead. */
export function skipWithout(need: () => unknown): { readonly skip?: string; readonly timeout?: number } {
  try {
    need()
    return { timeout: 240_000 }
  } catch (error) {
    const { message } = error as Error
    if (process.env['CI'] !== undefined) throw error
    console.error(`skipped: ${message}`)
    return { skip: message }
  }
}
