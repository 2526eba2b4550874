/** Tests with a real balancer are skipped, with a message, where none is installed; not in CI. */
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
