/**
 * Loads outbound/observe.ts when the first request is observed: the core records no calls, and a server that nobody observes
 * goes without the files that do. In src itself, from where scripts/bundle.ts knows the way.
 */
import { createRequire } from 'node:module'
import { hasCallObserver } from './observed-calls.ts'
import { warn } from './warnings.ts'

export function loadCallObserver(): void {
  if (hasCallObserver()) return
  try {
    // At once, for the request that is being observed.
    createRequire(import.meta.url)('./outbound/observe.ts')
  } catch {
    // In an app that a bundler has made one file of. It has found this import.
    import('./outbound/observe.ts').catch(error => warn(`meltproof does not record outbound calls. ${String(error)}`))
  }
}
