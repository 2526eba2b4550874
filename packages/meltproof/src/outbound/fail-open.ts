/** Runs work of ours inside somebody else's call: what it throws fails no call, and is told once. */

export type Guarded = <R>(work: () => R) => R | undefined

/** The first failure calls `onFailure`. */
export function failOpen(onFailure: (error: unknown) => void): Guarded {
  let failed = false
  return work => {
    try {
      return work()
    } catch (error) {
      if (!failed) {
        failed = true
        onFailure(error)
      }
      return undefined
    }
  }
}
