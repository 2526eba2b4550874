/** The data for a port of meltproof (the admin port, HAProxy's agent): of this process, or of its whole cluster. */
import cluster from 'node:cluster'
import { type AllGuards, combineProcesses, type Counted, countedTogether } from './all-guards.ts'
import { clusterName } from './own-folder.ts'
import type { Family } from '../observe/instruments.ts'
import { countedOf, type Figures, figuresOf, joined } from '../observe/joined-families.ts'
import type { GuardStats } from '../server/guard.ts'
import { Siblings } from './siblings.ts'

interface ProcessAnswer {
  readonly ready: boolean
  readonly holds: boolean
  /** Absent before a server of the process has listened. */
  readonly stats?: GuardStats
  readonly explain: readonly string[]
  readonly figures: Figures
  /** The carried counters of this process; absent if the asking process has newer ones. */
  readonly carried?: CarriedCounters
}

/** The counters of ended processes. The next owner of the port takes them over. */
interface CarriedCounters {
  /** The greatest version is the latest. */
  readonly version: number
  readonly figures: Figures
  /** From the `stats()` of those processes; empty if none of them had a listening server. */
  readonly counted: readonly Counted[]
}

interface Question {
  readonly carried?: CarriedCounters
  /** Asks only whether the worker owns the port. A worker that finds the port taken asks this every second. */
  readonly asksOnlyOwnership?: true
  /** Asks for no figures of metrics, which take long to collect. */
  readonly asksOnlyStatus?: true
}

type Others = Siblings<Question, ProcessAnswer>

export interface Together {
  readonly ready: boolean
  readonly stats: GuardStats | undefined
  readonly explain: readonly string[]
  readonly families: readonly Family[]
}

export interface Parts {
  readonly all: AllGuards
  readonly families: readonly Family[]
  readonly explain: () => readonly string[]
  readonly ready: () => boolean
  readonly holds: () => boolean
  /** Called if other processes exist but cannot be asked. */
  readonly onUnreachable: (why: unknown) => void
}

export class Workers {
  readonly #parts: Parts
  #siblings: Others | undefined
  /** The last answer of each other process. */
  #known = new Map<number, ProcessAnswer>()
  /** The last status of each other process. */
  #statuses: ReadonlyMap<number, ProcessAnswer | undefined> = new Map()
  /** The counters of ended processes; in a process that does not own the port, also those of the owner. */
  #carried: CarriedCounters = { version: 0, figures: {}, counted: [] }
  #asking: Promise<Together> | undefined

  constructor(name: string, parts: Parts) {
    this.#parts = parts
    // The primary may listen itself, so it joins too.
    if (cluster.isWorker || Object.keys(cluster.workers ?? {}).length > 0) this.#join(name)
    else cluster.once('fork', () => this.#join(name))
  }

  together(): Promise<Together> {
    // One query at a time: a late answer must not bring back a process that has ended since.
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  #join(name: string): void {
    try {
      this.#siblings = new Siblings(`${clusterName()} ${name}`, question => this.#answer(question))
    } catch (error) {
      this.#parts.onUnreachable(error)
    }
  }

  #answer({ carried, asksOnlyOwnership, asksOnlyStatus }: Question): ProcessAnswer | Pick<ProcessAnswer, 'holds'> {
    if (asksOnlyOwnership) return { holds: this.#parts.holds() }
    const own = this.#own(asksOnlyStatus)
    if (carried === undefined) return own
    if (carried.version <= this.#carried.version) return { ...own, carried: this.#carried }
    this.#carried = carried
    return own
  }

  get hasJoined(): boolean {
    return this.#siblings !== undefined
  }

  /** True if another process says that it owns the port, or does not answer. */
  async mayBeHeld(): Promise<boolean> {
    if (this.#siblings === undefined) return cluster.worker !== undefined && cluster.worker.id !== 1
    const others = await this.#siblings.ask({ asksOnlyOwnership: true })
    return others.some(([, answer]) => answer?.holds ?? true)
  }

  /** For probes: whether a process is ready, and whether a server has listened. */
  async status(): Promise<Pick<Together, 'ready' | 'stats'>> {
    const others = (await this.#siblings?.ask({ asksOnlyStatus: true })) ?? []
    const latest = others.map(([pid, answer]) => [pid, answer ?? this.#statuses.get(pid)] as const)
    this.#statuses = new Map(latest)
    return this.#combined([this.#own(true), ...latest.flatMap(([, answer]) => answer ?? [])])
  }

  #combined(answers: readonly ProcessAnswer[]): Pick<Together, 'ready' | 'stats'> {
    const stats = answers.flatMap(each => each.stats ?? [])
    return {
      ready: answers.some(({ ready }) => ready),
      stats: stats.length === 0 ? undefined : combineProcesses(stats, this.#carried.counted),
    }
  }

  async #ask(): Promise<Together> {
    const { families } = this.#parts
    const own = this.#own()
    const answers = this.#siblings === undefined ? [own] : [own, ...(await this.#others(this.#siblings, own))]
    return {
      ...this.#combined(answers),
      explain: answers.flatMap(({ explain }) => explain),
      families:
        this.#siblings === undefined
          ? families
          : joined(families, [...answers.map(({ figures }) => figures), this.#carried.figures]),
    }
  }

  async #others(siblings: Others, own: ProcessAnswer): Promise<ProcessAnswer[]> {
    const known = new Map<number, ProcessAnswer>()
    for (const [pid, answer] of await this.#shareCounters(siblings, own)) {
      const latest = answer ?? this.#known.get(pid)
      if (latest !== undefined) known.set(pid, latest)
      // Another worker may have taken the port since, and have newer counters.
      if (answer?.carried && answer.carried.version >= this.#carried.version) this.#carried = answer.carried
    }
    const gone = [...this.#known].filter(([pid]) => !known.has(pid))
    this.#known = known
    for (const [, lastAnswer] of gone) this.#carried = this.#with(lastAnswer)
    // The other workers receive the new totals before they are reported, because this process may end next.
    if (gone.length > 0) await this.#shareCounters(siblings, own)
    return [...known.values()]
  }

  #shareCounters(siblings: Others, own: ProcessAnswer): ReturnType<Others['ask']> {
    this.#carried = { ...this.#carried, version: this.#carried.version + 1 }
    return siblings.ask({ carried: this.#with(own) })
  }

  /** Returns the carried counters, increased by those of a process. */
  #with({ figures, stats }: ProcessAnswer): CarriedCounters {
    const { version, figures: before, counted } = this.#carried
    return {
      version,
      figures: countedOf(this.#parts.families, [figures, before]),
      counted: stats === undefined ? counted : [countedTogether([stats, ...counted])],
    }
  }

  #own(withoutFigures = false): ProcessAnswer {
    const { all, explain, families, holds, ready } = this.#parts
    const answer = { ready: ready(), holds: holds(), explain: withoutFigures ? [] : explain() }
    if (!all.any) return { ...answer, figures: {} }
    // Without siblings, the figures are sent to no other process.
    const figures = withoutFigures || this.#siblings === undefined ? {} : figuresOf(families)
    return { ...answer, stats: all.stats(), figures }
  }
}
