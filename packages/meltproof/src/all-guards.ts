/** The guards of a process as one, for what tells of all its servers. */
import type { Guard, GuardStats } from './server/guard.ts'

type Figures = Readonly<Record<string, unknown>>

/** Its figures are sums; a pressure is the highest, and what is true of one is true. After the last has gone, it stays. */
export class AllGuards {
  readonly ofAll = true
  readonly #listening: () => readonly Guard[]
  #last: readonly Guard[] = []

  constructor(listening: () => readonly Guard[]) {
    this.#listening = listening
  }

  /** Without one there are no figures. */
  get any(): boolean {
    return this.#guards().length > 0
  }

  stats(): GuardStats {
    return together(this.#guards().map(guard => guard.stats() as unknown as Figures)) as unknown as GuardStats
  }

  #guards(): readonly Guard[] {
    const now = this.#listening()
    if (now.length > 0) this.#last = now
    return this.#last
  }
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
