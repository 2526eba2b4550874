/**
 * Which request the running code works for, so that its calls can be counted towards it. An async context costs every
 * request half a microsecond and more, so it is kept only from the first call on. For requests that are open at that
 * moment the request is known while its handler runs until its first `await`, and when it is the only open one. The calls of
 * the others are counted towards no request.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { OpenCall, Scope } from '../record.ts'

const storage = new AsyncLocalStorage<Scope>()
let asked = false
/** Until the first call asks: the request whose handler runs its first stretch now. */
let running: Scope | undefined
/** Until then: how many are open, and the last of them that was entered. */
let open = 0
let latest: Scope | undefined
/** The only open request at the first call. Until it ends, calls without a context count towards it. */
let only: Scope | undefined

/** Undefined outside of a request, and while requests are not observed. */
export function currentScope(): Scope | undefined {
  if (!asked) {
    asked = true
    if (open === 1) only = latest
  }
  return storage.getStore() ?? running ?? only
}

/** Runs `fn`, and whatever it starts, for the request that `scope` stands for. Pair it with {@link leaveScope}. */
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

/** Notes a call that begins with the request it is made for, until {@link callEnds}. */
export function callBegins(call: OpenCall): Scope | undefined {
  const scope = currentScope()
  if (scope !== undefined) {
    scope.openCalls ??= new Set()
    scope.openCalls.add(call)
  }
  return scope
}

export function callEnds(scope: Scope | undefined, call: OpenCall): void {
  scope?.openCalls?.delete(call)
}
