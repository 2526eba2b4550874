/**
 * A request that crosses tiers: what it brought along from those above, what its calls take along to those below, and
 * whether the one retry that it is worth is still to be had. Kept across `await`; an async context costs every request,
 * so there is none until somebody needs it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

/** Names the class of a request. No client is believed; a caller is that the operator trusts. */
export const CRITICALITY_FIELD = 'x-meltproof-criticality'

/** On an answer: it is not to be tried again. Envoy obeys it, and so do we (outbound/retry.ts). */
export const NO_RETRY_FIELD = 'x-envoy-ratelimited'

export interface ChainOptions {
  /** The request is a retry itself. @default false */
  readonly retried?: boolean
  /** Asked at the first call that tells of it, and once. */
  readonly criticality?: () => string | undefined
  /** Its answer is not to be tried again. Called once at most. */
  readonly onSpent?: () => void
}

export class Chain {
  /** What it sends from here on is a retry. */
  retried: boolean
  #options: ChainOptions
  #spent = false
  #criticality: string | undefined
  #asked = false
  #over = false

  constructor(options: ChainOptions = {}) {
    this.#options = options
    this.retried = options.retried === true
  }

  /** Its retry was spent here or further down, or a tier below said that there is to be none. */
  get spent(): boolean {
    return this.#spent
  }

  spend(): void {
    if (this.#spent) return
    this.#spent = true
    this.#options.onSpent?.()
  }

  /** What began in it and goes on, such as an interval, is no part of the request any more. */
  get over(): boolean {
    return this.#over
  }

  end(): void {
    this.#over = true
    this.release()
  }

  /** Refers to nothing of its request from now on: async contexts keep a chain for as long as what began in it. */
  release(): void {
    if (!this.#over) void this.criticality
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

/** Undefined where nothing is passed on, and nothing is tried again. */
export function currentChain(): Chain | undefined {
  const chain = used ? storage.getStore() : undefined
  return chain?.over === true ? undefined : chain
}

export function runInChain<R>(chain: Chain, fn: () => R): R {
  used = true
  return storage.run(chain, fn)
}

/** Calls tell tiers below, so requests need a chain, until the returned function is called. */
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
