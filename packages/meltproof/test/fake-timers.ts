import { syncBuiltinESMExports } from 'node:module'
import { mock } from 'node:test'

/** Fakes a timer of the global object and of node:timers. `mock.timers.tick()` moves it until the returned function is called. */
export function fakeTimers(api: 'setTimeout' | 'setInterval'): () => void {
  mock.timers.enable({ apis: [api] })
  // Otherwise the names that a module has imported from node:timers keep the real functions.
  syncBuiltinESMExports()
  return () => {
    mock.timers.reset()
    syncBuiltinESMExports()
  }
}
