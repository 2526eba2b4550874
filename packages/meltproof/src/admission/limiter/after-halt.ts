/**
 * What a halt was, once answers come again. The limit of a halt is low, so that a dependency which had stopped finds no
 * backlog. Requests that are admitted then leave as quickly as before it. If hardly any of them leave, the dependency has
 * become slower for all, and its requests wait for nothing that is scarce. Pure.
 */

/** Half of the requests of the halt have left: the dependency answers again. */
const ANSWERS_AGAIN = 1 / 2
/** Requests that leave at less than this share of the rate before the halt do not leave as before. */
const HARDLY_ANY = 1 / 4

export class AfterHalt {
  readonly #promiseMs: number
  #halted = 0
  #left = 0
  #againAt: number | undefined

  constructor(promiseMs: number) {
    this.#promiseMs = promiseMs
  }

  /** `inService`: requests in service when answers had stopped. */
  begin(inService: number): void {
    this.#halted = inService
    this.#againAt = undefined
  }

  /** Counts an answer to a request that was admitted after the halt. */
  answered(): void {
    this.#left++
  }

  /**
   * Call it while no more requests count than the limit allows. `haltedLeft`: how many requests of the halt have left.
   * `rate`: answers per ms before the halt. Undefined if it is too early to tell.
   */
  judge(nowMs: number, haltedLeft: number, rate: number): 'slower' | 'as before' | undefined {
    if (this.#againAt === undefined) {
      if (haltedLeft < ANSWERS_AGAIN * this.#halted) return undefined
      this.#againAt = nowMs
      this.#left = 0
    }
    const againMs = nowMs - this.#againAt
    if (againMs < this.#promiseMs) return undefined
    return this.#left < HARDLY_ANY * rate * againMs ? 'slower' : 'as before'
  }
}
