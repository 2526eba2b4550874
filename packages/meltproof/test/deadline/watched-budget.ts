/** A budget that lists the listeners of its end, like `getEventListeners()` does for a signal. */
import { Budget, type EndListener } from '../../src/deadline/budget.ts'

export class WatchedBudget extends Budget {
  readonly listeners: Set<EndListener> = new Set()
  /** Calls of `onEnd()` so far. */
  added = 0

  override onEnd(listener: EndListener): void {
    this.added++
    this.listeners.add(listener)
    super.onEnd(listener)
  }

  override offEnd(listener: EndListener): void {
    this.listeners.delete(listener)
    super.offEnd(listener)
  }
}
