/**
 * How many wait for a place in the pools the operator names: pg, mysql2, undici, or a function. Read only when somebody
 * asks (stats, an explanation): the limit is learned from throughput, which a full pool flattens all by itself.
 */
import { caughtPromise } from '../promise-like.ts'
import { show, showThrown } from '../../options.ts'

/** A pool we can read, or a function that tells how many wait. */
export type PoolGauge = object | (() => number)

/** By name; at most {@link MOST_POOLS}. */
export type PoolGauges = Readonly<Record<string, PoolGauge>>

/** Names become labels of metrics. */
export const MOST_POOLS = 32

type Read = (pool: object) => unknown

/** Where each kind of pool keeps its number. */
const KINDS: readonly { readonly name: string; readonly read: Read }[] = [
  { name: 'pg', read: pool => (pool as { waitingCount?: unknown }).waitingCount },
  { name: 'undici', read: pool => (pool as { stats?: { queued?: unknown } }).stats?.queued },
  { name: 'mysql2', read: pool => queueLength(pool) ?? queueLength((pool as { pool?: object }).pool) },
]

function queueLength(pool: object | undefined): unknown {
  // A bound pool (meltproof/mysql2) has a line of its own, and tells of both.
  const { waitingCount, _connectionQueue } = (pool ?? {}) as { waitingCount?: unknown; _connectionQueue?: unknown[] }
  return waitingCount ?? _connectionQueue?.length
}

/** A function that reads this pool; undefined when it is none we know. */
export function gaugeOf(pool: unknown): (() => number) | undefined {
  if (typeof pool === 'function') return pool as () => number
  if (typeof pool !== 'object' || pool === null) return undefined
  const kind = KINDS.find(({ read }) => isCount(attempt(() => read(pool))))
  return kind === undefined ? undefined : () => kind.read(pool) as number
}

/** The gauges of one server. One that fails or tells nonsense tells 0, and is reported once. */
export class Gauges {
  readonly #gauges: ReadonlyMap<string, () => number>
  readonly #note: (text: string) => void
  readonly #reported = new Set<string>()

  constructor(gauges: ReadonlyMap<string, () => number>, note: (text: string) => void) {
    this.#gauges = gauges
    this.#note = note
  }

  /** How many wait for each. */
  read(): Record<string, number> {
    const waiting: Record<string, number> = {}
    for (const [name, read] of this.#gauges) waiting[name] = this.#readOne(name, read)
    return waiting
  }

  #readOne(name: string, read: () => unknown): number {
    let what: string
    try {
      const value = read()
      if (isCount(value)) return value
      what = `told ${caughtPromise(value) ? 'a promise' : show(value)}`
    } catch (error) {
      what = `threw ${showThrown(error)}`
    }
    if (!this.#reported.has(name)) {
      this.#reported.add(name)
      this.#note(`pools.${name} must tell at once how many wait, a number of at least 0; it ${what}, and 0 is shown`)
    }
    return 0
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
