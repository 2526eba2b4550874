/**
 * A hundred simulated walkers for an empty shore. They are stored and shown like real ones, their names end in `(sim)`,
 * and all their data is deleted when they stop.
 */
import type { Shore } from '../live/shore.ts'
import type { Store } from '../positions/store.ts'
import { BayWalker, nameOf } from './bay.ts'

export const SIMULATED = 100
/** A demonstration ends by itself after this time, ms. */
const LAST_MS = 600_000
const STEP_MS = 1000

/** Not the id of a phone, which is made of a hash. Always the same, so that a start finds the leftovers of a crash. */
const idOf = (index: number): string => `${String(index).padStart(8, '0')}-0000-0000-0000-000000000000`

export class SimulatedWalkers {
  readonly #store: Store
  readonly #shore: Shore
  #timer: NodeJS.Timeout | undefined
  /** Work that the database has not finished: a step, or the deletion of leftovers. The next step waits for it. */
  #underWay: Promise<void> | undefined

  constructor(store: Store, shore: Shore) {
    this.#store = store
    this.#shore = shore
  }

  /** Does nothing while they walk. Throws a Refusal (503) if the database is down. */
  async start(): Promise<void> {
    if (this.#timer !== undefined) return
    const walkers = Array.from({ length: SIMULATED }, () => new BayWalker())
    const endAt = Date.now() + LAST_MS
    this.#timer = setInterval(() => {
      if (Date.now() > endAt) void this.stop().catch(() => {})
      // A step that the database cannot store is dropped: the next one follows.
      else if (this.#underWay === undefined) void this.#wait(this.#step(walkers)).catch(() => {})
    }, STEP_MS)
    this.#timer.unref()
    try {
      await this.#wait(this.#forget())
    } catch (error) {
      this.#end()
      throw error
    }
  }

  /** Throws a Refusal (503) if the database is down: they have stopped, but their data is still stored. */
  async stop(): Promise<void> {
    if (!this.#end()) return
    await this.#underWay
    await this.#forget()
  }

  /** No step begins before `work` has ended. Settles like `work`. */
  #wait(work: Promise<void>): Promise<void> {
    const ended = (): void => {
      if (this.#underWay === underWay) this.#underWay = undefined
    }
    const underWay = work.then(ended, ended)
    this.#underWay = underWay
    return work
  }

  #end(): boolean {
    const walked = this.#timer !== undefined
    clearInterval(this.#timer)
    this.#timer = undefined
    return walked
  }

  async #step(walkers: readonly BayWalker[]): Promise<void> {
    const now = Date.now()
    await Promise.all(
      walkers.map(async (walker, index) => {
        const report = { name: `${nameOf(index)} (sim)`, positions: [walker.step(now)] }
        await this.#store.keep(idOf(index), report)
        this.#shore.move(idOf(index), report, now)
      }),
    )
  }

  async #forget(): Promise<void> {
    for (let index = 0; index < SIMULATED; index++) {
      await this.#store.forget(idOf(index))
      this.#shore.forget(idOf(index))
    }
  }
}
