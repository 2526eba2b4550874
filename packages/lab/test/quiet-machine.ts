/** Checks that only a quiet machine can pass: on a busy one what takes long may take too long. */
import type { TestContext } from 'node:test'

/** Other programs may use less than this many cores. */
const QUIET = 0.5

export const isQuiet = (foreign: number | undefined): boolean => (foreign ?? 0) < QUIET

/** If the check fails on a busy machine, the test is skipped. `foreign`: CPU that other programs used, cores; undefined if unknown. */
export function onAQuietMachine(context: TestContext, foreign: number | undefined, check: () => void): void {
  try {
    check()
  } catch (error) {
    if (isQuiet(foreign)) throw error
    context.skip(`something else used ${Math.round(100 * foreign!)} % of a core`)
  }
}
