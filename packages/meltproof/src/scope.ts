/**
 * Which request the running code works for, so that a call to a dependency can be counted towards it. Entered by the
 * server while somebody observes requests, and not at all otherwise; the only file that knows where it is kept.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

const storage = new AsyncLocalStorage<object>()
let entered = false

/** What stands for the request that the running code works for; undefined outside of one, or when nobody observes. */
export function currentScope(): object | undefined {
  // Until somebody observes, asking must not cost a lookup.
  return entered ? storage.getStore() : undefined
}

/** Runs `fn`, and whatever it starts, for the request that `scope` stands for. */
export function runInScope<R>(scope: object, fn: () => R): R {
  entered = true
  return storage.run(scope, fn)
}
