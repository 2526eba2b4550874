import { syncBuiltinESMExports } from 'node:module'
import { mock } from 'node:test'

/** Fakes a timer, globally and in node:timers, for `mock.timers.tick()`. Returns a function that restores it. */
export function fakeTimers(api: 'setTimeout' | 'setInterval'): () => void {
  mock.timers.enable({ apis: [api] })
  // Otherwise the names that a module has imported from node:timers keep the real functions.
  syncBuiltinESMExports()
  return () => {
    mock.timers.reset()
    syncBuiltinESMExports()
  }
}
