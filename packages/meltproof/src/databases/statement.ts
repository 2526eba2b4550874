/** One statement on a bound connection, from its call until the server has finished it. */
import type { Budget } from '../deadline/budget.ts'
import type { Call } from '../outbound/call.ts'
import type { Probe, Recovery } from './recovery.ts'

/** The driver's operations on a statement. */
export interface Handle {
  /** True once the statement has been sent. */
  isRunning(): boolean
  /** Gives this error to the caller. */
  tell(error: Error): void
  /** Called for a waiting statement. It is not sent: when its turn comes, BoundConnection.passedOver() is called. */
  drop(reason: Error): void
  /**
   * Called for a running statement. Nothing else may be sent until the recovery is over. Returns the function that
   * begins the round trip.
   */
  blockQueue(recovery: Recovery): Probe
}

export class Statement {
  readonly text: string
  /** The budget in which the app called the statement; undefined without one. */
  readonly within: Budget | undefined
  readonly call: Call | undefined
  budget: Budget
  /** The statement runs in the grace period after the end of its budget. */
  hasGrace: boolean
  handle: Handle | undefined
  /** The caller has received an error of meltproof. */
  hasFailedForCaller = false
  over = false
  /** The server answered with an error. */
  failed = false
  onOver: (() => void) | undefined

  constructor(text: string, within: Budget | undefined, budget: Budget, hasGrace: boolean, call: Call | undefined) {
    this.text = text
    this.within = within
    this.budget = budget
    this.hasGrace = hasGrace
    this.call = call
  }

  /** Gives the caller an error instead of the answer. */
  fail(error: Error): void {
    if (this.hasFailedForCaller) return
    this.hasFailedForCaller = true
    this.budget.settle()
    this.call?.end(error)
    this.handle?.tell(error)
  }
}
