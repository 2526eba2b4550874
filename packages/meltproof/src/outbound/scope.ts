/**
 * Finds the request for which the running code works, so that its calls are counted for that request. An async context
 * costs every request at least 0.5 us, so requests get one only after the first call of the process. For a request that
 * began earlier, calls are counted until the first `await` of its handler; later calls are counted only if that
 * request was the only open one at the first call.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { OpenCall, Scope } from '../record.ts'

const storage = new AsyncLocalStorage<Scope>()
let asked = false
/** Before the first call: the request whose handler is running synchronously now. */
let running: Scope | undefined
/** Before the first call: the number of open requests, and the one that was entered last. */
let open = 0
let latest: Scope | undefined
/** The only open request at the first call. Until it ends, calls without a context count for it. */
let only: Scope | undefined

/** Undefined outside a request, and while requests are not recorded. */
export function currentScope(): Scope | undefined {
  if (!asked) {
    asked = true
    if (open === 1) only = latest
  }
  return storage.getStore() ?? running ?? only
}

/** Runs `fn`, and the async work it starts, for the request of `scope`. Pair it with {@link leaveScope}. */
export function runInScope<R>(scope: Scope, fn: () => R): R {
  open++
  if (asked) return storage.run(scope, fn)
  const outer = running
  running = scope
  latest = scope
  try {
    return fn()
  } finally {
    running = outer
  }
}

export function leaveScope(scope: Scope): void {
  open--
  if (latest === scope) latest = undefined
  if (only === scope) only = undefined
}

/** Adds a call to the request for which it is made, until it is deleted from `openCalls`. */
export function callBegins(call: OpenCall): Scope | undefined {
  const scope = currentScope()
  if (scope !== undefined) {
    scope.openCalls ??= new Set()
    scope.openCalls.add(call)
  }
  return scope
}
