/**
 * The chain of a request through several tiers: what the tier above sent with it, what its calls send to the tiers
 * below, and whether its one retry is still unused. AsyncLocalStorage keeps the chain across `await`. Since that costs
 * time in every request, a chain is created only when it is needed.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

/** Header field with the criticality of a request. Obeyed from trusted callers, or if `criticalityHeader` names it. */
export const CRITICALITY_FIELD = 'x-meltproof-criticality'

/** Header field on an answer that forbids a retry. Envoy obeys it, and so does meltproof (outbound/retry.ts). */
export const NO_RETRY_FIELD = 'x-envoy-ratelimited'

export interface ChainOptions {
  /** True if the request itself is a retry. @default false */
  readonly retried?: boolean
  /** Returns the criticality. Called at most once: when an outbound call first sends it, or when the client leaves. */
  readonly criticality?: () => string | undefined
  /** Called at most once, when the answer must say that no retry is allowed. */
  readonly onSpent?: () => void
}

export class Chain {
  /** True when further calls of the request count as retries. */
  retried: boolean
  #options: ChainOptions
  /** True once this tier or a lower one has used the one retry, or a lower tier has forbidden it. */
  spent = false
  #criticality: string | undefined
  #asked = false
  /** True after the request has ended. Work that it started, such as an interval, has no chain from then on. */
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

  /** Drops all references to the request, because async contexts can hold a chain long after it. */
  release(): void {
    // The handler may still make calls, which send the criticality.
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
let informing = 0

/** Returns the chain of the request for which this code runs, or undefined outside a request and after its end. */
export function currentChain(): Chain | undefined {
  const chain = used ? storage.getStore() : undefined
  return chain?.over === true ? undefined : chain
}

export function runInChain<R>(chain: Chain, fn: () => R): R {
  used = true
  return storage.run(chain, fn)
}

/** Until the returned function is called, each request gets a chain, because outbound calls inform lower tiers. */
export function informsTiers(): () => void {
  informing++
  return () => {
    informing--
  }
}

export function tiersAreInformed(): boolean {
  return informing > 0
}
