/**
 * What happens when something inside the outbound bounds throws: the calls go on as they would without us, and it is
 * said once. Errors of the app or of its client never come here.
 */

/** Runs `work` of ours; what it throws is told to `onFailure` and `otherwise` is returned. */
export type Guarded = <R>(work: () => R, otherwise: R) => R

/** The first failure calls `onFailure`; the further ones are the same news. */
export function failOpen(onFailure: (error: unknown) => void): Guarded {
  let failed = false
  return (work, otherwise) => {
    try {
      return work()
    } catch (error) {
      if (!failed) {
        failed = true
        onFailure(error)
      }
      return otherwise
    }
  }
}
