/** The named limiters and the bound database pools of this process, for the metrics. */

type Figure = 'inflight' | 'queued' | 'limit' | 'pressure' | 'admitted'

export type LimiterFigures = Readonly<Record<Figure, number>> & { readonly shed: Readonly<Record<string, number>> }

/** Maximum number of limiters and of pools. Each name is a label value in several metrics. */
const MOST = 100

const named = new Map<string, () => LimiterFigures>()
export const namedLimiters: ReadonlyMap<string, () => LimiterFigures> = named

/** While 100 names are registered, further ones are ignored. The returned function removes the name. */
export function nameLimiter(name: string, figures: () => LimiterFigures): () => void {
  if (!named.has(name) && named.size >= MOST) return () => undefined
  named.set(name, figures)
  return () => {
    if (named.get(name) === figures) named.delete(name)
  }
}

export interface PoolFigures {
  /** `host:port/database`, as in the record of a call. */
  readonly name: string
  /** Connections lent to the app. */
  readonly used: number
  /** Callers that wait for a connection. */
  readonly waiting: number
  /** Maximum connections; Infinity without a limit. */
  readonly most: number
}

const pools: WeakRef<() => PoolFigures>[] = []

/** Registers a pool until `figures` is garbage-collected. While 100 are registered, further ones are ignored. */
export function namePool(figures: () => PoolFigures): void {
  if (pools.length < MOST || living().length < MOST) pools.push(new WeakRef(figures))
}

/** Returns the figures of all pools. Those of pools with the same name are summed. */
export function namedPools(): PoolFigures[] {
  const byName = new Map<string, PoolFigures>()
  for (const read of living()) {
    const { name, used, waiting, most } = read()
    const before = byName.get(name) ?? { used: 0, waiting: 0, most: 0 }
    byName.set(name, { name, used: before.used + used, waiting: before.waiting + waiting, most: before.most + most })
  }
  return [...byName.values()]
}

function living(): (() => PoolFigures)[] {
  for (let i = pools.length - 1; i >= 0; i--) if (pools[i]!.deref() === undefined) pools.splice(i, 1)
  return pools.flatMap(pool => pool.deref() ?? [])
}
