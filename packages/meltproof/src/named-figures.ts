/** The limiters that have a name, and the bound database pools, of this process: what metrics read. */

type Figure = 'inflight' | 'queued' | 'limit' | 'pressure' | 'admitted'

export type LimiterFigures = Readonly<Record<Figure, number>> & { readonly shed: Readonly<Record<string, number>> }

/** Each is a label value in several metrics. */
const MOST = 100

const named = new Map<string, () => LimiterFigures>()

/** Later ones than the first 100 are left out. Returns what takes it out again. */
export function nameLimiter(name: string, figures: () => LimiterFigures): () => void {
  if (!named.has(name) && named.size >= MOST) return () => undefined
  named.set(name, figures)
  return () => {
    if (named.get(name) === figures) named.delete(name)
  }
}

export function namedLimiters(): ReadonlyMap<string, () => LimiterFigures> {
  return named
}

export interface PoolFigures {
  /** Its server and database, as a peer is named. */
  readonly name: string
  /** Connections that are lent to the app. */
  readonly used: number
  /** Callers that wait for one. */
  readonly waiting: number
  /** Connections at most; Infinity without a limit. */
  readonly most: number
}

const pools: WeakRef<() => PoolFigures>[] = []

/** For as long as somebody holds `figures`. Later pools than the first 100 are left out. */
export function namePool(figures: () => PoolFigures): void {
  if (pools.length < MOST || living().length < MOST) pools.push(new WeakRef(figures))
}

/** Those of one name together. */
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
