/**
 * A request that crosses tiers: what it received from the tiers above, what its calls send to the tiers below, and
 * whether its one retry is still available. Kept across `await`; since an async context costs every request, there is
 * none until it is needed.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

/** Header field with the criticality of a request. Honoured only from trusted callers. */
export const CRITICALITY_FIELD = 'x-meltproof-criticality'

/** Header field on an answer that forbids a retry. Envoy obeys it, and so does meltproof (outbound/retry.ts). */
export const NO_RETRY_FIELD = 'x-envoy-ratelimited'

export interface ChainOptions {
  /** The request itself is a retry. @default false */
  readonly retried?: boolean
  /** Returns the criticality. Called at most once, at the first call that sends it. */
  readonly criticality?: () => string | undefined
  /** Called at most once, when the answer must say that no retry is allowed. */
  readonly onSpent?: () => void
}

export class Chain {
  /** True when the calls of the request are retries from here on. */
  retried: boolean
  #options: ChainOptions
  /** True when the retry was used here or further down, or a lower tier forbade it. */
  spent = false
  #criticality: string | undefined
  #asked = false
  /** True after the request. Work that began in it and continues, such as an interval, no longer belongs to it. */
  over = false

  constructor(options: ChainOptions = {}) {
    this.#options = options
    this.retried = options.retried === true
  }

  spend(): void {
    if (this.spent) return
    this.spent = true
    this.#options.onSpent?.()
  }

  end(): void {
    this.over = true
    this.release()
  }

  /** Drops all references to the request: async contexts keep a chain while work that began in it continues. */
  release(): void {
    if (!this.over) void this.criticality
    this.#options = {}
  }

  get criticality(): string | undefined {
    if (!this.#asked) {
      this.#asked = true
      this.#criticality = this.#options.criticality?.()
    }
    return this.#criticality
  }
}

const storage = new AsyncLocalStorage<Chain>()
let used = false
let tellers = 0

/** The chain of the running code; undefined when nothing is passed on and nothing is retried. */
export function currentChain(): Chain | undefined {
  const chain = used ? storage.getStore() : undefined
  return chain?.over === true ? undefined : chain
}

export function runInChain<R>(chain: Chain, fn: () => R): R {
  used = true
  return storage.run(chain, fn)
}

/** Calls inform lower tiers, so requests need a chain, until the returned function is called. */
export function tellsTiers(): () => void {
  tellers++
  let on = true
  return () => {
    if (on) tellers--
    on = false
  }
}

export function tiersAreTold(): boolean {
  return tellers > 0
}
