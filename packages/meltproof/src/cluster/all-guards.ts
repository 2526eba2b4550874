/** The guards of a process combined into one, for pages and agents that report all its servers. */
import type { Guard, GuardStats } from '../server/guard.ts'

type Figures = Readonly<Record<string, unknown>>

const HIGHEST: ReadonlySet<string> = new Set(['pressure', 'utilisation', 'demand', 'load'])

/** Figures are sums or maxima; one dry run or drain counts for all. When no server listens, the last guards count. */
export class AllGuards {
  readonly ofAll = true
  readonly #listening: () => readonly Guard[]
  #last: readonly Guard[] = []
  /** Counters, by `dryRun`, of guards that stopped before others: a counter that falls looks like a new process. */
  readonly #gone = new Map<boolean, Figures>()
  /** The share of each guard in {@link #gone}, which is subtracted if its server listens again. */
  readonly #goneOf = new WeakMap<Guard, Figures>()

  constructor(listening: () => readonly Guard[]) {
    this.#listening = listening
  }

  /** False before the first server listens: then there are no figures. */
  get any(): boolean {
    return this.#guards().length > 0
  }

  stats(): GuardStats {
    const each = this.#figures()
    const figures = together(each)
    const counted = together([countedOf(figures), ...this.#gone.values()])
    // The servers of a process share its event loop, and so its stalls.
    const stalls = each[0]?.['stalls']
    return { ...figures, ...counted, ...(stalls === undefined ? {} : { stalls }) } as unknown as GuardStats
  }

  /** The sheds of dry runs, apart from the real ones, because a dry run sheds no request. */
  sheds(): readonly Pick<GuardStats, 'dryRun' | 'shed'>[] {
    const all = this.#figures()
    return [false, true].flatMap(dryRun => {
      const counted = all.filter(figures => figures['dryRun'] === dryRun).map(countedOf)
      const gone = this.#gone.get(dryRun)
      const { shed } = together(gone === undefined ? counted : [...counted, gone])
      return shed === undefined ? [] : [{ dryRun, shed: shed as GuardStats['shed'] }]
    })
  }

  #guards(): readonly Guard[] {
    const now = this.#listening()
    if (now.length === 0) return this.#last
    for (const guard of this.#last) if (!now.includes(guard)) this.#remember(guard)
    this.#last = now
    return now
  }

  #figures(): readonly Figures[] {
    return this.#guards().map(guard => this.#figuresOf(guard))
  }

  #remember(guard: Guard): void {
    const figures = this.#figuresOf(guard)
    const dryRun = figures['dryRun'] === true
    const gone = this.#gone.get(dryRun)
    this.#gone.set(dryRun, gone === undefined ? countedOf(figures) : together([countedOf(figures), gone]))
    this.#goneOf.set(guard, countedOf(allOf(guard)))
  }

  /** The figures of a guard, without its share in {@link #gone}. */
  #figuresOf(guard: Guard): Figures {
    const figures = allOf(guard)
    const gone = this.#goneOf.get(guard)
    return gone === undefined ? figures : { ...figures, ...less(countedOf(figures), gone) }
  }
}

function allOf(guard: Guard): Figures {
  return guard.stats() as unknown as Figures
}

/** Counters of a process since its start. */
export type Counted = Pick<GuardStats, 'admitted' | 'exempt' | 'left' | 'shed'>

export function countedTogether(all: readonly Counted[]): Counted {
  return together(all.map(each => countedOf(each as unknown as Figures))) as unknown as Counted
}

function countedOf({ admitted, exempt, left, shed }: Figures): Figures {
  return { admitted, exempt, left, shed }
}

/**
 * Combines the figures of several processes. Each has its own event loop, so load figures are averages.
 * @param gone the counters of processes that have ended
 */
export function oneOf(all: readonly GuardStats[], gone: readonly Counted[]): GuardStats {
  const average = (name: 'utilisation' | 'demand' | 'load'): number =>
    all.reduce((sum, stats) => sum + stats[name], 0) / all.length
  const joined = together(all as unknown as readonly Figures[]) as unknown as GuardStats
  return {
    ...joined,
    ...countedTogether([...all, ...gone]),
    ...{ utilisation: average('utilisation'), demand: average('demand'), load: average('load') },
  }
}

function together(all: readonly Figures[]): Figures {
  const names = new Set(all.flatMap(figures => Object.keys(figures)))
  return Object.fromEntries(
    [...names].map(name => [
      name,
      combined(
        name,
        // A figure may be missing: two processes have stalls at different places.
        all.flatMap(figures => (figures[name] === undefined ? [] : [figures[name]])),
      ),
    ]),
  )
}

function less(figures: Figures, gone: Figures): Figures {
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [
      name,
      typeof value === 'number' ? value - (gone[name] as number) : less(value as Figures, gone[name] as Figures),
    ]),
  )
}

function combined(name: string, values: readonly unknown[]): unknown {
  const [first] = values
  if (typeof first === 'boolean') return values.includes(true)
  if (typeof first === 'object') return together(values as readonly Figures[])
  const numbers = values as readonly number[]
  return HIGHEST.has(name) ? Math.max(...numbers) : numbers.reduce((sum, value) => sum + value, 0)
}
