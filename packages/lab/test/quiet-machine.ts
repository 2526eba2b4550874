/** Checks that may fail on a busy machine, where the measured times may be too long. */
import type { TestContext } from 'node:test'

/** Other programs may use less than this many cores. */
const QUIET = 0.5

export const isQuiet = (foreign: number | undefined): boolean => (foreign ?? 0) < QUIET

/** Skips a failed test if the machine was busy. `foreign`: CPU of other programs, cores; undefined if unknown. */
export function onAQuietMachine(context: TestContext, foreign: number | undefined, check: () => void): void {
  try {
    check()
  } catch (error) {
    if (isQuiet(foreign)) throw error
    context.skip(`something else used ${Math.round(100 * foreign!)} % of a core`)
  }
}
