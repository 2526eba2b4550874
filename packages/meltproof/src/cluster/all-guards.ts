/** The guards of a process combined into one, for pages and agents that report all its servers. */
import type { Guard, GuardStats } from '../server/guard.ts'

export type Counted = Pick<GuardStats, 'admitted' | 'exempt' | 'left' | 'shed'>

type Figures = Readonly<Record<string, unknown>>

const HIGHEST: ReadonlySet<string> = new Set(['pressure', 'utilisation', 'demand', 'load'])

/** Adds counters, takes the maximum of load figures, and ORs flags. While no server listens, the last guards count. */
export class AllGuards {
  readonly ofAll = true
  readonly #listening: () => readonly Guard[]
  #last: readonly Guard[] = []
  /** Counters, by `dryRun`, of servers that stopped before others. A falling counter would look like a restart. */
  readonly #gone = new Map<boolean, Counted>()
  /** The share of each guard in {@link #gone}, which is subtracted if its server listens again. */
  readonly #goneOf = new WeakMap<Guard, Counted>()

  constructor(listening: () => readonly Guard[]) {
    this.#listening = listening
  }

  /** False before the first server listens: then there are no figures. */
  get any(): boolean {
    return this.#guards().length > 0
  }

  stats(): GuardStats {
    const each = this.#each()
    const stats = together(each)
    const counted = countedTogether([stats, ...this.#gone.values()])
    // The servers of a process share its event loop, and so its stalls.
    const stalls = each[0]?.stalls
    return { ...stats, ...counted, ...(stalls === undefined ? {} : { stalls }) }
  }

  /** The sheds of dry runs, apart from the real ones, because a dry run sheds no request. */
  sheds(): readonly Pick<GuardStats, 'dryRun' | 'shed'>[] {
    const each = this.#each()
    return [false, true].flatMap(dryRun => {
      const counted: Counted[] = each.filter(stats => stats.dryRun === dryRun)
      const all = counted.concat(this.#gone.get(dryRun) ?? [])
      return all.length === 0 ? [] : [{ dryRun, shed: countedTogether(all).shed }]
    })
  }

  #guards(): readonly Guard[] {
    const now = this.#listening()
    if (now.length === 0) return this.#last
    for (const guard of this.#last) if (!now.includes(guard)) this.#remember(guard)
    this.#last = now
    return now
  }

  #each(): readonly GuardStats[] {
    return this.#guards().map(guard => this.#statsOf(guard))
  }

  #remember(guard: Guard): void {
    const stats = this.#statsOf(guard)
    const gone = this.#gone.get(stats.dryRun)
    this.#gone.set(stats.dryRun, countedTogether(gone === undefined ? [stats] : [stats, gone]))
    this.#goneOf.set(guard, countedOf(guard.stats()))
  }

  /** The figures of a guard, without its share in {@link #gone}. */
  #statsOf(guard: Guard): GuardStats {
    const stats = guard.stats()
    const gone = this.#goneOf.get(guard)
    return gone === undefined ? stats : { ...stats, ...minus(countedOf(stats), gone) }
  }
}

export function countedTogether(all: readonly Counted[]): Counted {
  return together(all.map(countedOf))
}

function countedOf({ admitted, exempt, left, shed }: Counted): Counted {
  return { admitted, exempt, left, shed }
}

/**
 * Combines the figures of several processes. Each has its own event loop, so load figures are averages.
 * @param gone the counters of processes that have ended
 */
export function combineProcesses(all: readonly GuardStats[], gone: readonly Counted[]): GuardStats {
  const average = (name: 'utilisation' | 'demand' | 'load'): number =>
    all.reduce((sum, stats) => sum + stats[name], 0) / all.length
  const load = { utilisation: average('utilisation'), demand: average('demand'), load: average('load') }
  return { ...together(all), ...countedTogether([...all, ...gone]), ...load }
}

/** Combines figures by name. Each process may lack some: the stalls of two processes are at different places. */
function together<T extends object>(all: readonly T[]): T {
  const names = new Set(all.flatMap(Object.keys))
  const valuesOf = (name: string): unknown[] =>
    all.map(each => (each as Figures)[name]).filter(value => value !== undefined)
  return Object.fromEntries([...names].map(name => [name, combined(name, valuesOf(name))])) as T
}

function minus<T extends object>(figures: T, gone: T): T {
  const left = (value: unknown, by: unknown): unknown =>
    typeof value === 'number' ? value - (by as number) : minus(value as object, by as object)
  const entries = Object.entries(figures).map(([name, value]) => [name, left(value, (gone as Figures)[name])])
  return Object.fromEntries(entries) as T
}

function combined(name: string, values: readonly unknown[]): unknown {
  const [first] = values
  if (typeof first === 'boolean') return values.includes(true)
  if (typeof first === 'object') return together(values as readonly object[])
  const numbers = values as readonly number[]
  return HIGHEST.has(name) ? Math.max(...numbers) : numbers.reduce((sum, value) => sum + value, 0)
}
