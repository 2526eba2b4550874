/** The guards of a process as one, for what tells of all its servers. */
import type { Guard, GuardStats } from './server/guard.ts'

type Figures = Readonly<Record<string, unknown>>

/** Its figures are sums; a pressure is the highest, and what is true of one is true. After the last has gone, it stays. */
export class AllGuards {
  readonly ofAll = true
  readonly #listening: () => readonly Guard[]
  #last: readonly Guard[] = []
  /** What those have counted that listen no more while others do: a counter that falls looks like a new process. */
  #gone: Figures | undefined

  constructor(listening: () => readonly Guard[]) {
    this.#listening = listening
  }

  /** Without one there are no figures. */
  get any(): boolean {
    return this.#guards().length > 0
  }

  stats(): GuardStats {
    const figures = together(this.#guards().map(figuresOf))
    return { ...figures, ...countedBy(figures, this.#gone) } as unknown as GuardStats
  }

  #guards(): readonly Guard[] {
    const now = this.#listening()
    if (now.length === 0) return this.#last
    for (const guard of this.#last) if (!now.includes(guard)) this.#gone = countedBy(figuresOf(guard), this.#gone)
    this.#last = now
    return now
  }
}

function figuresOf(guard: Guard): Figures {
  return guard.stats() as unknown as Figures
}

function countedBy({ admitted, exempt, left, shed }: Figures, gone: Figures | undefined): Figures {
  const counted = { admitted, exempt, left, shed }
  return gone === undefined ? counted : together([counted, gone])
}

function together(all: readonly Figures[]): Figures {
  const [first = {}] = all
  return Object.fromEntries(
    Object.keys(first).map(name => [
      name,
      combined(
        name,
        all.map(figures => figures[name]),
      ),
    ]),
  )
}

function combined(name: string, values: readonly unknown[]): unknown {
  const [first] = values
  if (typeof first === 'boolean') return values.includes(true)
  if (typeof first === 'object') return together(values as readonly Figures[])
  const numbers = values as readonly number[]
  return name === 'pressure' ? Math.max(...numbers) : numbers.reduce((sum, value) => sum + value, 0)
}
