/**
 * A hundred walkers for an empty shore. They are stored and shown as everybody is, say in their names what they are, and
 * everything of them is deleted when they go.
 */
import type { Shore } from '../live/shore.ts'
import type { Store } from '../positions/store.ts'
import { BayWalker, nameOf } from './bay.ts'

export const SIMULATED = 100
/** A demonstration that somebody has forgotten ends by itself, ms. */
const LAST_MS = 600_000
const STEP_MS = 1000

/** No phone's: a phone's id is made of a hash. Always the same, so that a start finds what a crash has left behind. */
const idOf = (index: number): string => `${String(index).padStart(8, '0')}-0000-0000-0000-000000000000`

export class SimulatedWalkers {
  readonly #store: Store
  readonly #shore: Shore
  #timer: NodeJS.Timeout | undefined
  /** What the database has not taken yet: a step, or that those before are forgotten. The next step comes after it. */
  #underWay: Promise<void> | undefined

  constructor(store: Store, shore: Shore) {
    this.#store = store
    this.#shore = shore
  }

  /** Does nothing while they walk. Throws a Refusal (503) when the database is away. */
  async start(): Promise<void> {
    if (this.#timer !== undefined) return
    const walkers = Array.from({ length: SIMULATED }, () => new BayWalker())
    const endAt = Date.now() + LAST_MS
    this.#timer = setInterval(() => {
      if (Date.now() > endAt) void this.stop().catch(() => {})
      // What the database does not take now is not missed: the next step follows.
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

  /** Throws a Refusal (503) when the database is away: they have stopped, but what they walked is still there. */
  async stop(): Promise<void> {
    if (!this.#end()) return
    await this.#underWay
    await this.#forget()
  }

  /** Lets no step begin before `work` has ended. Settles as it does. */
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
