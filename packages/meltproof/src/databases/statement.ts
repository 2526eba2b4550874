/** One statement on a bound connection, from the call until the server is done with it. */
import type { Budget } from '../deadline/budget.ts'
import type { Call } from '../outbound/call.ts'

/** How a driver deals with it. */
export interface Handle {
  /** The server has it. */
  isRunning(): boolean
  /** Gives its caller this error, and no answer any more. */
  tell(error: Error): void
  /** It waits, and is not to be sent: when its turn comes, BoundConnection.passedOver() is called instead. */
  drop(reason: Error): void
  /** It runs: nothing else is to be sent until the recovery is over. */
  holdUp(): void
}

export class Statement {
  readonly text: string
  /** The budget it was called in; undefined outside of any. */
  readonly within: Budget | undefined
  readonly call: Call | undefined
  /** Its own: what it may take. */
  budget: Budget
  /** It runs in the grace after the end of its budget. */
  graced: boolean
  handle: Handle | undefined
  /** Its caller has an error of ours. */
  told = false
  over = false
  /** The server's answer was an error. */
  failed = false
  onOver: (() => void) | undefined

  constructor(text: string, within: Budget | undefined, budget: Budget, graced: boolean, call: Call | undefined) {
    this.text = text
    this.within = within
    this.budget = budget
    this.graced = graced
    this.call = call
  }

  tell(error: Error): void {
    if (this.told) return
    this.told = true
    this.budget.settle()
    this.call?.end(error)
    this.handle?.tell(error)
  }
}
