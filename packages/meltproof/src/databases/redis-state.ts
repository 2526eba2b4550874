/**
 * The state of a Redis connection: MULTI and WATCH remain in effect after their answer. When the budget of such a
 * command ends, the app has a grace period for EXEC, DISCARD or UNWATCH. Then the connection is closed.
 */
import type { Budget, EndListener } from '../deadline/budget.ts'
import { startFairTimer } from '../deadline/fair-timer.ts'
import { MeltproofError } from '../errors.ts'
import { warnOnce } from '../warnings.ts'
import { GRACE_MS } from './limits.ts'

/** For each command that affects later ones on its connection: the commands that end its effect. */
const ENDED_BY: ReadonlyMap<string, readonly string[]> = new Map([
  ['multi', ['exec', 'discard', 'reset', 'quit']],
  ['watch', ['exec', 'discard', 'unwatch', 'reset', 'quit']],
])

interface Begun {
  readonly budget: Budget | undefined
  readonly ended: EndListener
}

export class RedisState {
  readonly #close: () => void
  readonly #begun = new Map<string, Begun>()
  readonly #warn = warnOnce()
  /** Why the MULTI must not be executed. */
  #broken: Error | undefined

  /** @param close closes the connection; ioredis then opens another */
  constructor(close: () => void) {
    this.#close = close
  }

  /**
   * Returns an error if the command must not be sent. `leadsPipeline` is true for the first command of a pipeline: if
   * it is sent, the others are sent as well, and one of them may be EXEC.
   */
  refusal(name: string, leadsPipeline: boolean): Error | undefined {
    if (this.#broken === undefined) return undefined
    if (name !== 'exec' && (!leadsPipeline || ENDED_BY.get('multi')!.includes(name))) return undefined
    const what = leadsPipeline ? 'A pipeline was refused, because it may contain EXEC' : 'EXEC was refused'
    const next = leadsPipeline
      ? 'The MULTI can only be discarded.'
      : 'meltproof closes the connection, which discards the MULTI.'
    return new MeltproofError(
      'MELTPROOF_TRANSACTION_BROKEN',
      `${what}: another command of this MULTI was not sent, or its result is unknown, because its deadline had ` +
        `passed or its client had left. ${next}`,
      { cause: this.#broken },
    )
  }

  isIn(begun: string): boolean {
    return this.#begun.has(begun)
  }

  sends(name: string, budget: Budget | undefined): void {
    for (const [begun, { ended, budget: owner }] of this.#begun) {
      if (!ENDED_BY.get(begun)!.includes(name)) continue
      this.#begun.delete(begun)
      owner?.offEnd(ended)
    }
    if (!this.#begun.has('multi')) this.#broken = undefined
    if (!ENDED_BY.has(name) || this.#begun.has(name)) return
    const begun: Begun = { budget, ended: () => this.#expectEnd(name, begun) }
    this.#begun.set(name, begun)
    budget?.onEnd(begun.ended)
  }

  #expectEnd(name: string, begun: Begun): void {
    startFairTimer(GRACE_MS, () => {
      if (this.#begun.get(name) !== begun) return
      this.#warn(
        `A Redis connection was closed, because its ${name.toUpperCase()} had not ended ${GRACE_MS} ms after ` +
          'its deadline, and later commands would have waited behind it. Later ones are closed without a warning.',
      )
      this.#close()
    })
  }

  /** A caller got an error of meltproof instead of its answer. */
  late(name: string, reason: Error): void {
    if (this.#begun.has('multi') && !ENDED_BY.get('multi')!.includes(name)) this.#broken ??= reason
    // Only closing the connection ends the state: the app assumes that it did not begin, or has tried to end it.
    if (this.#begun.has(name) || (name === 'exec' && this.#broken !== undefined)) this.#close()
  }

  /** The connection is closed, and its state is lost. */
  gone(): void {
    for (const { budget, ended } of this.#begun.values()) budget?.offEnd(ended)
    this.#begun.clear()
    this.#broken = undefined
  }
}
